import { StringDecoder } from 'node:string_decoder'
import { nowMs } from '../../system/clock.ts'
import type { RunListener } from '../../protocol/result/event.ts'

/** Output is told this far apart at the least; what comes between goes with the next. */
const everyMs = 100
/** A message has so many characters, those of the newest output. */
const maxChars = 4000

export interface Progress {
  /** How many bytes of output have come so far. */
  progress: number
  /** What came since the last one. */
  message: string
}

/** Tells a client of live output while a call runs, so that it neither waits in the dark nor gives up. */
export function createProgress(send: (progress: Progress) => Promise<void>): RunListener {
  const decoder = new StringDecoder('utf8')
  let bytes = 0
  let text = ''
  let sentAtMs = -Infinity

  return async (event) => {
    if (event.type === 'output') {
      bytes += event.bytes.length
      text = (text + decoder.write(Buffer.from(event.bytes))).slice(-maxChars)
    }
    const due = event.type === 'exited' || nowMs() - sentAtMs >= everyMs
    if (text === '' || !due) return
    const message = text
    text = ''
    sentAtMs = nowMs()
    await send({ progress: bytes, message })
  }
}
