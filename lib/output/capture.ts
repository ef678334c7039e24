import type { StreamName } from '../protocol/result/event.ts'
import type { OutputSink } from '../protocol/ports.ts'
import type { Reading, TextPart } from '../protocol/result/reading.ts'
import type { Result } from '../protocol/result/result.ts'
import { type CaptureOptions, CapturedStream, type ShownStream } from './captured-stream.ts'
import { Journal } from './journal.ts'
import { type KeptTexts, readKept } from './part.ts'

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
   * A bounded part of the clean text, of which the last MiB is there. Throws `MisuseError` where one
   * stream is asked for and the run has merged them.
   */
  read(reading: Reading): TextPart
  /** All clean text that is still there. Valid until the next write. */
  kept(): KeptTexts
  /** After the last write. Never rejects: what is lost is told by a notice. */
  finish(): Promise<Captured>
}

export function createCapture(options: CaptureOptions): Capture {
  return options.request.streams === 'merged' ? captureMerged(options) : captureSeparate(options)
}

function captureMerged(options: CaptureOptions): Capture {
  const journal = new Journal()
  const output = new CapturedStream(options, 'output', [journal])
  const kept = () => {
    output.preview()
    return { output: journal.kept }
  }
  return {
    write: (_stream, bytes) => output.write(bytes),
    snapshot: () => showMerged(output.snapshot()),
    read: (reading) => readKept(kept(), reading),
    kept,
    finish: async () => showMerged(await output.finish()),
  }
}

/**
 * Two pipes: the system does not tell which of two bytes was written first, so that both together are in
 * the order in which they were read, line by line.
 */
function captureSeparate(options: CaptureOptions): Capture {
  const both = new Journal()
  const journals = { stdout: new Journal(), stderr: new Journal() }
  const open = (stream: 'stdout' | 'stderr') =>
    new CapturedStream(options, stream, [both, journals[stream]])
  const stdout = open('stdout')
  const stderr = open('stderr')
  let last = stdout
  return {
    write(stream, bytes) {
      const current = stream === 'stderr' ? stderr : stdout
      if (current !== last) last.previewLines()
      last = current
      return current.write(bytes)
    },
    snapshot: () => showSeparate(stdout.snapshot(), stderr.snapshot()),
    read({ stream, ...reading }) {
      stdout.preview()
      stderr.preview()
      return (stream === undefined ? both : journals[stream]).read(reading)
    },
    kept() {
      stdout.preview()
      stderr.preview()
      return { output: both.kept, stdout: journals.stdout.kept, stderr: journals.stderr.kept }
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
