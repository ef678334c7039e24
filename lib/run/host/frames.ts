import { type ToldResult, toldShape } from '../../protocol/result/result.ts'
import { check } from '../../protocol/shape/check.ts'
import { createFrameSplitter } from '../frame-splitter.ts'

/*
 * What the script on a host reports beside the command's own bytes, in the same streams, since a client
 * such as ssh has no others: a record separator (0x1e), the name of the run that only the two sides
 * know, a word and a newline. A command that wrote the same would have to guess the name.
 */

/** What was heard of a command on another machine: each frame of its script adds to it. */
export interface Heard {
  begun?: true
  /** The directory in which it began. */
  startedIn?: string
  /** The process id of the command over there. */
  pid?: number
  code?: number
  /** What ended the command, if the shell over there could tell. */
  signal?: string | null
  /** How long the command took, by the clock over there. */
  durationMs?: number
  /** A nacre over there is to carry the command. */
  carried?: true
  /** What that nacre reports of the end. */
  told?: ToldResult
  refused?: { code: string; message: string }
  /** The script over there has ended the command at its deadline. */
  timedOut?: true
  /** Where a session stands. */
  cwd?: string
  /** This side has begun to end the run. */
  isStopped?: true
  /** Nobody here reads what the command writes to one of its streams. */
  isUnread?: true
  /** The last of what came on standard error: a client that fails says why there. */
  lastWords?: string
}

export interface FrameReader {
  /** Passes on what belongs to the command, in order, without the frames. */
  read(bytes: Uint8Array): Uint8Array[]
  /** What stood before the beginning, or all if there was none: words of the client. */
  readonly preamble: string
}

/** The result of a run names processes and files. */
const longestFrame = 64 * 1024
const longestPreamble = 64 * 1024

/** One reader for one stream; a frame may be cut anywhere. */
export function createFrameReader(name: string, tell: (frame: Heard) => void): FrameReader {
  const splitter = createFrameSplitter({ head: frameHead(name), end: 0x0a, longest: longestFrame })
  let begun = false
  let ended = false
  let preamble = Buffer.alloc(0)

  function pass(bytes: Buffer, out: Uint8Array[]): void {
    if (ended) return
    if (begun) out.push(bytes)
    else preamble = Buffer.concat([preamble, bytes]).subarray(-longestPreamble)
  }

  function take(text: string): void {
    const frame = parseFrame(text)
    if (frame === null) return
    // What came before is the login's or the client's own.
    begun ||= frame.begun === true
    ended ||= frame.code !== undefined
    tell(frame)
  }

  return {
    read(bytes) {
      const out: Uint8Array[] = []
      for (const piece of splitter.read(bytes)) {
        if (piece.kind === 'bytes') pass(piece.bytes, out)
        else take(piece.text.replace(/\r$/, ''))
      }
      return out
    },
    get preamble() {
      return Buffer.concat([preamble, begun ? Buffer.alloc(0) : splitter.held]).toString('utf8')
    },
  }
}

/** How every frame of a run begins. */
export function frameHead(name: string): string {
  return `\u001enacre:${name}:`
}

/** Null if another version of nacre, or a bad line, reports something else. */
function parseFrame(text: string): Heard | null {
  const [, word, value = ''] = /^([a-z]+)(?: (.*))?$/s.exec(text) ?? []
  switch (word) {
    case 'begin':
      return { begun: true, startedIn: value }
    case 'pid':
      return { pid: Number(value) }
    case 'end': {
      const [, code, signal] = /^(\d+)(?: (\w*))?$/.exec(value) ?? []
      if (code === undefined) return null
      return { code: Number(code), signal: signal ? `SIG${signal}` : null }
    }
    case 'time': {
      // Without the milliseconds if date(1) over there has none.
      const [, from, to] = /^(\d{13}) (\d{13})$/.exec(value) ?? []
      return from === undefined ? null : { durationMs: Math.max(0, Number(to) - Number(from)) }
    }
    case 'carried':
      return { carried: true }
    case 'timeout':
      return { timedOut: true }
    case 'result':
      return readResult(value)
    case 'at':
      return { cwd: value }
    case 'refused': {
      const [, code = '', message = ''] = /^(\w+) (.*)$/s.exec(value) ?? []
      return { refused: { code, message } }
    }
    default:
      return null
  }
}

function readResult(text: string): Heard | null {
  try {
    return { told: check(toldShape, JSON.parse(text), 'result', { names: 'wire' }) }
  } catch {
    return null
  }
}
