import type { RunEvent } from '../../protocol/result/event.ts'
import type { Result } from '../../protocol/result/result.ts'
import { fromWire, toWire } from '../../protocol/wire.ts'

/** What a supervisor tells its caller, one JSON object a line. The last one is the answer. */
export type Report =
  /** It has started. */
  | { ready: true }
  | { event: RunEvent }
  /** Final, or running: the caller need not wait any longer. */
  | { result: Result }
  | { misuse: { code: string; message: string; field: string | null } }

export function encodeReport(report: Report): string {
  return `${JSON.stringify(toWire('event' in report ? encodeEvent(report.event) : report))}\n`
}

function encodeEvent(event: RunEvent): unknown {
  if (event.type !== 'output') return { event }
  return { event: { ...event, bytes: Buffer.from(event.bytes).toString('base64') } }
}

function decodeReport(line: string): Report {
  const report = fromWire(JSON.parse(line)) as Report
  if (!('event' in report) || report.event.type !== 'output') return report
  const base64 = report.event.bytes as unknown as string
  return { event: { ...report.event, bytes: Buffer.from(base64, 'base64') } }
}

/** The lines of a stream of bytes, each taken before more is read. */
export async function* readReports(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Report> {
  let parts: Uint8Array[] = []
  for await (const chunk of stream) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, start)
      if (end < 0) break
      yield decodeReport(Buffer.concat([...parts, chunk.subarray(start, end)]).toString())
      parts = []
      start = end + 1
    }
    parts.push(chunk.subarray(start))
  }
}
