import { toldShape } from '../../protocol/result/result.ts'
import { check } from '../../protocol/shape/check.ts'
import { countBegun } from '../begun-mark.ts'
import type { Heard } from './client.ts'

/**
 * What the script on a host tells beside the command's own bytes, in the same streams, since a client
 * such as ssh has no others: a record separator (0x1e), the name of the run that only the two sides
 * know, a word and a newline. A command that wrote the same would have to guess the name.
 */
export type Frame = Partial<Heard>

export interface FrameReader {
  /** Gives on what belongs to the command, in order, without the frames. */
  read(bytes: Uint8Array): Uint8Array[]
  /** What stood before the beginning, or all where there was none: words of the client. */
  readonly preamble: string
}

/** The result of a run names processes and files. */
const longestFrame = 64 * 1024
const longestPreamble = 64 * 1024

/** One reader for one stream; a frame may be cut anywhere. */
export function createFrameReader(name: string, tell: (frame: Frame) => void): FrameReader {
  const head = Buffer.from(frameHead(name))
  let begun = false
  let ended = false
  let preamble = Buffer.alloc(0)
  /** The last bytes, where they may be the beginning of a frame. */
  let held: Buffer = Buffer.alloc(0)

  function pass(bytes: Buffer, out: Uint8Array[]): void {
    if (bytes.length === 0 || ended) return
    if (begun) out.push(bytes)
    else preamble = Buffer.concat([preamble, bytes]).subarray(-longestPreamble)
  }

  function take(text: string): void {
    const frame = parseFrame(text)
    if (frame === null) return
    // What came before is the login's or the client's own.
    if (frame.begun) begun = true
    if (frame.code !== undefined) ended = true
    tell(frame)
  }

  return {
    read(bytes) {
      const out: Uint8Array[] = []
      // The memory of the bytes belongs to the caller.
      let rest = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes])
      held = Buffer.alloc(0)
      for (;;) {
        const at = rest.indexOf(head)
        if (at < 0) break
        const end = rest.indexOf(0x0a, at)
        if (end < 0 && rest.length - at < longestFrame) break
        pass(rest.subarray(0, at), out)
        take(rest.toString('utf8', at + head.length, end < 0 ? undefined : end).replace(/\r$/, ''))
        rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1)
      }
      // A frame that is not whole yet, or may be one.
      const whole = rest.indexOf(head)
      const open = whole >= 0 ? whole : rest.length - countBegun(rest, head)
      held = Buffer.from(rest.subarray(open))
      pass(rest.subarray(0, open), out)
      return out
    },
    get preamble() {
      return Buffer.concat([preamble, begun ? Buffer.alloc(0) : held]).toString('utf8')
    },
  }
}

/** How every frame of a run begins. */
export function frameHead(name: string): string {
  return `\u001enacre:${name}:`
}

function parseFrame(text: string): Frame | null {
  const [, word, value = ''] = /^([a-z]+)(?: (.*))?$/s.exec(text) ?? []
  switch (word) {
    case 'begin':
      return { begun: true, startedIn: value }
    case 'pid':
      return { pid: Number(value) }
    case 'end': {
      const [code = '', signal = ''] = value.split(' ')
      if (!/^\d+$/.test(code)) return null
      return { code: Number(code), signal: signal === '' ? null : `SIG${signal}` }
    }
    case 'time': {
      const [, from, to] = /^(\d{13}) (\d{13})$/.exec(value) ?? []
      const tookMs = Number(to) - Number(from)
      return { durationMs: tookMs >= 0 ? tookMs : null }
    }
    case 'carried':
    case 'taken':
      return { [word]: true }
    case 'timeout':
      return { timedOut: true }
    case 'result':
      return readResult(value)
    case 'used': {
      const [userMs, systemMs] = value.split(' ').map(readTime)
      return userMs === undefined || systemMs === undefined ? null : { used: { userMs, systemMs } }
    }
    case 'at':
      return { cwd: value }
    case 'gone':
      return { gone: Number(value) }
    case 'refused':
      return { refused: value }
    default:
      return null
  }
}

/** As times(1p) has it: `1m2.500s`. */
function readTime(text: string): number {
  const [, minutes, seconds = ''] = /^(\d+)m(\d+(?:[.,]\d+)?)s$/.exec(text) ?? []
  return Math.round((Number(minutes) * 60 + Number(seconds.replace(',', '.'))) * 1000)
}

/** Null where another version of nacre, or a bad line, has told something else. */
function readResult(text: string): Frame | null {
  try {
    return { told: check(toldShape, JSON.parse(text), 'result', { names: 'wire' }) }
  } catch {
    return null
  }
}
