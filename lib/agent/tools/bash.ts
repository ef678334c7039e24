import { command, fields } from '../../protocol/request/fields.ts'
import { limits } from '../../protocol/limits.ts'
import { contradiction, MisuseError } from '../../protocol/errors.ts'
import type { RequestInput } from '../../protocol/request/request.ts'
import type { RunListener } from '../../protocol/result/event.ts'
import type { Result } from '../../protocol/result/result.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { toWire } from '../../protocol/wire.ts'
import { renderForModel, renderRunning } from '../../render/model.ts'
import { createHead, extractLimits } from '../extract-limits.ts'
import { isErrorFor, readArguments, textResult, type Tool, type ToolContext } from './tool.ts'

const { min, max } = limits.agentTimeoutSeconds

const options = {
  timeout: shape.seconds(`Deadline in seconds, ${min} to ${max} (default by mode)`, { minimum: 0 }),
  ...shape.pick(fields, [
    'mode',
    'cwd',
    'env',
    'head',
    'tail',
    'pty',
    'session',
    'waitSeconds',
    'onTimeout',
  ]),
}
const params = shape.object({ command }, options)
/** Beside what a model is told: `host`, also if it may use none, and a word by which other tools mean `mode`. */
const accepted = shape.object(
  { command },
  {
    ...options,
    host: fields.host,
    runInBackground: shape.boolean('The same as mode: "background"'),
  },
)
type BashArguments = shape.Infer<typeof accepted>

const sandboxed =
  'Commands run in a sandbox; its /tmp is private, stays from call to call and is removed at the end of the conversation. What a call leaves running ends with the call: start it with `mode: "background"` or in a `session`.'

export const bashTool: Tool = {
  name: 'bash',
  title: 'Run a command',
  readOnly: false,
  inputSchema: shape.jsonSchema(params),
  description: (cwd, isSandboxed) => {
    const { default: seconds, slow, background } = limits.timeoutSeconds
    return [
      `Runs a command line in bash. The working directory is ${cwd}; each call starts there in a fresh shell, unless \`session\` names a shell that keeps its state.`,
      `Output is stdout and stderr in the order of writing, at most ${limits.maxLines} lines or ${limits.maxBytes} bytes: the end of it. What does not fit is kept whole in a file and read with the tool artifact; \`head\` and \`tail\` ask for fewer lines.`,
      `What is not done after ${seconds} s (\`mode: "slow"\`: ${slow} s; or \`timeout\`) goes on as a job; \`on_timeout: "kill"\` stops it instead. \`mode: "background"\` starts it as a job (at most ${background} s) and returns at once, \`wait_seconds\` after so long. Jobs are read, waited for and stopped with the tool bash_job.`,
      'Calls of one message run at the same time: put what depends on each other into one command.',
      'Nobody can type into it: standard input is closed, pagers and editors are off. A program that needs a terminal gets one with `pty`.',
      ...(isSandboxed ? [sandboxed] : []),
    ].join('\n')
  },
  async call(given, context) {
    const { command, timeout, ...fields } = readBashArguments(given, context)
    const { mode, session, onTimeout } = fields
    const isForeground = mode !== 'background' && session === undefined
    const isPlain = isForeground && !fields.pty && fields.host === undefined
    const extracted = isPlain ? extractLimits(command) : null
    const input: RequestInput = {
      command,
      ...extracted,
      ...placeOf(fields, context),
      onTimeout: onTimeout ?? (mode === 'background' ? 'kill' : 'background'),
      ...(timeout !== undefined && { timeoutSeconds: timeout }),
      ...waitAtMost(fields, context),
      origin: context.origin,
      artifact: context.keepsOutput || mode === 'background' ? 'always' : 'auto',
    }
    const { executor, signal, approve, atMost } = context
    const lines = extracted?.head
    const head = lines === undefined ? null : createHead(lines, context.onEvent)
    let pid: number | null = null
    const onEvent: RunListener = (event) => {
      if (event.type === 'started') pid = event.pid
      return (head?.listener ?? context.onEvent)?.(event)
    }
    // On another machine none of the directories here is known.
    const cwd = fields.host === undefined ? context.fields?.cwd : undefined
    const ended = await executor.run(input, { onEvent, signal, approve, atMost, cwd })
    const result = head?.settle(ended) ?? ended
    const text =
      result.status === 'running'
        ? renderRunning(result, pid)
        : renderForModel(forModel(result, context))
    const told = textResult(text, isErrorFor(result, context), toWire(result))
    return result.artifact ? { ...told, artifactId: result.artifact.id } : told
  },
}

/** The same tool for a model that may also run commands on these hosts. */
export function bashToolOn(hosts: readonly string[]): Tool {
  const host = shape.choice(hosts)
  const named = `\`host\` runs it on another machine, with the directories and the shell there: ${hosts.join(', ')}.`
  return {
    ...bashTool,
    inputSchema: shape.jsonSchema(shape.object({ command }, { ...options, host })),
    description: (...how) => `${bashTool.description(...how)}\n${named}`,
  }
}

function readBashArguments(
  given: unknown,
  { executor: { agentHosts } }: ToolContext,
): Omit<BashArguments, 'runInBackground'> {
  const { runInBackground, ...args } = readArguments(accepted, given)
  const { host, mode } = args
  if (host !== undefined && !agentHosts.includes(host)) {
    const message =
      agentHosts.length === 0
        ? 'No other machine may be used here; leave `host` out'
        : `\`host\` must be one of ${agentHosts.join(', ')}`
    throw new MisuseError('invalid_field', message, 'host')
  }
  if (!runInBackground) return args
  if (mode !== undefined && mode !== 'background') throw contradiction('mode', 'run_in_background')
  return { ...args, mode: 'background' }
}

/** The arguments over what holds for all commands of the model; on another machine little of that does. */
function placeOf<Given extends Pick<BashArguments, 'host'>>(
  given: Given,
  { fields: { sandbox, workspace } = {} }: ToolContext,
): Given & Pick<RequestInput, 'sandbox' | 'workspace'> {
  return {
    ...(sandbox !== undefined && { sandbox }),
    ...(workspace !== undefined && given.host === undefined && { workspace }),
    ...given,
  }
}

/** The result without what a model has no use for. */
function forModel(result: Result, { fields = {}, keepsOutput }: ToolContext): Result {
  const { truncation, artifact, sandbox, notices } = result
  // A text that is whole needs no word on where its bytes are kept.
  const isWhole = keepsOutput && truncation === null && artifact?.complete
  // Its user is told that there is no sandbox.
  const isDegraded = fields.sandbox === 'auto' && sandbox?.degraded
  return {
    ...result,
    artifact: isWhole ? null : artifact,
    notices: isDegraded ? notices.filter((text) => !text.startsWith('NOT SANDBOXED')) : notices,
  }
}

function waitAtMost(
  fields: Pick<BashArguments, 'mode' | 'waitSeconds'>,
  { maxWaitSeconds }: ToolContext,
): Pick<RequestInput, 'waitSeconds'> {
  if (maxWaitSeconds === undefined || fields.mode === 'background') return {}
  return { waitSeconds: Math.min(fields.waitSeconds ?? Infinity, maxWaitSeconds) }
}
