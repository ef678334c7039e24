import type { OriginPolicy } from '../origin.ts'
import { limits } from '../limits.ts'
import type { Ready, RequestInput, TimeMode } from './request.ts'
import { invalid } from '../shape/check.ts'

/** Deadlines in seconds. */
export type TimeoutsByMode = Readonly<Partial<Record<TimeMode, number>>>

/** setTimeout counts in 32 bits; 24 days are enough for a deadline. */
const maxTimerMs = 2 ** 31 - 1

/** The deadline of a run, null for none; where an agent asked for another, `notices` are told. */
export function chooseTimeoutMs(
  input: RequestInput,
  policy: Pick<OriginPolicy, 'deadline' | 'clamped'>,
  usual: TimeoutsByMode | undefined,
  notices: string[],
): number | null {
  const { mode = 'default', timeoutSeconds: asked } = input
  if (asked === undefined) {
    const limited = policy.deadline || mode !== 'default'
    return limited ? toMs(usual?.[mode] ?? limits.timeoutSeconds[mode]) : null
  }
  if (!policy.clamped) return asked === 0 ? null : toMs(asked)
  const { min } = limits.agentTimeoutSeconds
  const max = Math.max(limits.agentTimeoutSeconds.max, limits.timeoutSeconds[mode])
  // 0 asks for no deadline; an agent's run always has one, so it gets the longest.
  const seconds = asked === 0 ? max : Math.min(max, Math.max(min, asked))
  if (seconds !== asked) {
    notices.push(`timeout_clamped: ${asked} s was asked for, ${seconds} s is set`)
  }
  return toMs(seconds)
}

/** A background start returns at once, unless it says what to wait for. */
export function chooseWaitMs(input: RequestInput): number | null {
  const atOnce = input.mode === 'background' && input.ready === undefined
  return toMs(input.waitSeconds ?? (atOnce ? 0 : undefined))
}

/** Null: none. Longer times end where a timer does. */
export function toMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : Math.min(seconds * 1000, maxTimerMs)
}

/** Throws `MisuseError` where it is none of the three. */
export function parseReady(text: string): Ready {
  const colon = text.indexOf(':')
  const kind = text.slice(0, colon)
  const value = text.slice(colon + 1)
  if (kind === 'port' && /^\d+$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535) {
    return { kind: 'port', port: Number(value) }
  }
  if (kind === 'quiet' && /^\d+$/.test(value)) return { kind: 'quiet', quietMs: Number(value) }
  if (kind === 'regex') {
    try {
      return { kind: 'regex', source: new RegExp(value).source }
    } catch {
      throw invalid('ready', 'a valid regular expression after `regex:`', value)
    }
  }
  throw invalid('ready', '`port:N`, `regex:…` or `quiet:ms`', text)
}
