import type { StreamName } from '../protocol/event.ts'
import type { OutputSink } from '../protocol/ports.ts'
import type { Result } from '../protocol/result.ts'
import { type CaptureOptions, CapturedStream, type ShownStream } from './captured-stream.ts'
import { Journal } from './journal.ts'

export type { CaptureOptions } from './captured-stream.ts'

/** The output side of a result. */
export type Captured = Pick<
  Result,
  | 'output'
  | 'stdout'
  | 'stderr'
  | 'truncation'
  | 'artifact'
  | 'stderrTruncation'
  | 'stderrArtifact'
  | 'notices'
>

/** Takes the bytes of one run: raw to an artifact, clean and bounded for the result. */
export interface Capture extends OutputSink {
  write(stream: StreamName, bytes: Uint8Array): void | Promise<void>
  /** The output so far, of a run that goes on. */
  snapshot(): Captured
  /**
   * Clean text since `cursor`, which starts at 0 and is held by the caller. The last MiB is there;
   * `truncatedBefore` says how many bytes before the text are lost.
   */
  read(cursor: number): { text: string; cursor: number; truncatedBefore: number }
  /** After the last write. Never rejects: what is lost is told by a notice. */
  finish(): Promise<Captured>
}

export function createCapture(options: CaptureOptions): Capture {
  const journal = new Journal()
  const open = (stream: StreamName) => new CapturedStream({ ...options, stream, journal })
  if (options.request.streams === 'merged') {
    const output = open('output')
    return {
      write: (_stream, bytes) => output.write(bytes),
      snapshot: () => showMerged(output.snapshot()),
      read(cursor) {
        output.preview()
        return journal.read(cursor)
      },
      finish: async () => showMerged(await output.finish()),
    }
  }
  const stdout = open('stdout')
  const stderr = open('stderr')
  return {
    write: (stream, bytes) => (stream === 'stderr' ? stderr : stdout).write(bytes),
    snapshot: () => showSeparate(stdout.snapshot(), stderr.snapshot()),
    read(cursor) {
      stdout.preview()
      stderr.preview()
      return journal.read(cursor)
    },
    finish: async () => showSeparate(await stdout.finish(), await stderr.finish()),
  }
}

function showMerged({ text, truncation, artifact, notices }: ShownStream): Captured {
  return { output: text, truncation, artifact, notices }
}

function showSeparate(out: ShownStream, err: ShownStream): Captured {
  return {
    stdout: out.text,
    stderr: err.text,
    truncation: out.truncation,
    artifact: out.artifact,
    stderrTruncation: err.truncation,
    stderrArtifact: err.artifact,
    notices: [...new Set([...out.notices, ...err.notices])],
  }
}
