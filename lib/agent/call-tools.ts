import type { Approve } from '../executor/executor.ts'
import type { Reach } from '../executor/reach.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'
import { listenToText } from '../protocol/result/event.ts'
import type { RequestInput } from '../protocol/request/request.ts'
import type { PromptResult } from '../protocol/result/result.ts'
import { describeStanding } from '../render/messages.ts'
import type { AgentListener } from './events.ts'
import type { ToolCall, ToolReply } from './models/model.ts'
import { textResult, type ToolResult } from './tools/tool.ts'
import { findTool, tools } from './tools/tools.ts'

/** What the calls of a conversation's tools work with. */
export type ToolDesk = ReturnType<typeof createToolDesk>

export interface ToolDeskParts {
  executor: Reach
  fields: Pick<RequestInput, 'cwd' | 'sandbox' | 'workspace'>
  approve: Approve | undefined
  tell: AgentListener
}

export function createToolDesk({ executor, fields, approve, tell }: ToolDeskParts) {
  const runs: string[] = []
  let toldOfSandbox = false
  const leftRunning = new Set<string>()
  const ask = approve && askOneByOne(approve)

  /** Jobs that have ended since the last look, a line each. */
  async function takeEnded(): Promise<string[]> {
    const lines: string[] = []
    for (const id of leftRunning) {
      const found = await executor.jobs.show(id).catch(messageOf)
      if (typeof found !== 'string' && found.status === 'running') continue
      leftRunning.delete(id)
      lines.push(typeof found === 'string' ? found : describeStanding(found).join('; '))
    }
    return lines
  }

  /** The jobs that go on. */
  async function listJobs(): Promise<PromptResult['jobs']> {
    const jobs = leftRunning.size === 0 ? [] : await executor.jobs.list({ status: 'running' })
    return jobs
      .filter(({ jobId }) => leftRunning.has(jobId))
      .map(({ jobId: id, command }) => ({ id, command }))
  }

  /** Where the system has no sandbox, every run says so; it is told once. */
  async function tellOfSandbox(details: unknown): Promise<void> {
    const { sandbox, notices = [] } = (details ?? {}) as {
      sandbox?: { degraded: boolean }
      notices?: string[]
    }
    if (!sandbox?.degraded || toldOfSandbox) return
    toldOfSandbox = true
    for (const message of notices) await tell({ type: 'notice', message })
  }

  async function callOne(call: ToolCall, signal: AbortSignal): Promise<ToolReply> {
    const { id, name, input, raw } = call
    await tell({ type: 'tool_call', id, name, arguments: input ?? {} })
    let run: string | null = null
    let over = false
    const onEvent = listenToText(async (event) => {
      if (event.type !== 'output') run ??= event.id
      if (event.type === 'started') runs.push(event.id)
      // What a job writes later belongs to no call any more.
      if (event.type !== 'output' || over) return
      const { stream, data } = event
      await tell({ type: 'tool_output', id, runId: event.id, stream, data })
    })
    let result: ToolResult
    try {
      if (input === null) throw new MisuseError('invalid_arguments', describeRaw(raw ?? ''))
      result = await findTool(name).call(input, {
        executor,
        origin: 'agent',
        fields,
        keepsOutput: executor.artifacts !== null,
        signal,
        onEvent,
        approve: ask,
      })
    } catch (error) {
      if (!(error instanceof MisuseError)) throw error
      const known = tools.map((tool) => tool.name).join(', ')
      const hint = error.code === 'unknown_tool' ? `; the tools are ${known}` : ''
      result = textResult(`${error.message}${hint}`, true, null)
    }
    over = true
    await tellOfSandbox(result.details)
    const { status } = (result.details ?? {}) as { status?: unknown }
    if (run !== null && status === 'running') leftRunning.add(run)
    const text = result.content.map((part) => part.text).join('\n')
    const { isError, details, artifactId } = result
    const reply: ToolReply = { callId: id, name, text, isError }
    if (artifactId !== undefined) reply.artifactId = artifactId
    await tell({ type: 'tool_result', id, reply, runId: run, details })
    return reply
  }

  return {
    /** Runs the calls of one message at the same time; the replies are in their order. Never rejects. */
    call: (calls: readonly ToolCall[], signal: AbortSignal) =>
      Promise.all(calls.map((call) => callOne(call, signal))),
    takeEnded,
    listJobs,
    /** Ids of the runs since the last look, in the order of their starts. */
    takeRuns: () => runs.splice(0),
  }
}

/** A person is asked one thing at a time. */
function askOneByOne(approve: Approve): Approve {
  let last: Promise<unknown> = Promise.resolve()
  return (request, verdict, signal) => {
    const asked = last.then(() => approve(request, verdict, signal))
    last = asked.catch(() => undefined)
    return asked
  }
}

function describeRaw(raw: string): string {
  const shown = raw.length > 200 ? `${raw.slice(0, 200)}…` : raw
  return `The arguments must be one JSON object; these cannot be read: ${shown}`
}
