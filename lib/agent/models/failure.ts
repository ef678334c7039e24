import { isObject } from '../../protocol/shape/shape.ts'
import { startOf } from '../../protocol/words.ts'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import type { ModelFailure } from './model.ts'

/** Something that keeps a model from answering, told in one sentence. */
export class ModelError extends Error {
  override readonly name = 'ModelError'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A failed request: what to tell, and whether to make it again. */
export interface FailedRequest {
  failure: ModelFailure
  mayRetry: boolean
  /** The pause that the server asks for; null if it asks for none. */
  retryAfterMs: number | null
}

/** The part of the library's error of a request (`APICallError`) that is read here. */
interface CallError {
  statusCode?: number
  responseBody?: string
  responseHeaders?: Record<string, string>
}

interface Kind {
  code: string
  /** Statuses of HTTP; `none` is an error without one. */
  status?: RegExp
  /** Stands in what the error says. */
  words?: RegExp
  mayRetry?: boolean
  /** What a person is told; `{}` stands for the provider. */
  told: string
}

const tooLong =
  /context[ _]length|context window|maximum context|prompt is too long|too many tokens|input is too long|exceeds? the (?:available |model'?s? )?context|reduce the length/i
const noCredit = /insufficient_quota|exceeded your current quota|credit balance/i
const lost =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|UND_ERR|fetch failed|terminated|other side closed|cannot connect|error sending|connection/i
const unreadable = /parse|validation|invalidresponse/i
/** An error within a stream that is the server's own trouble. */
const trouble = /overloaded|rate_limit|api_error|server_error|timeout|unavailable|internal/i

/** Why a request failed: the first row that fits. */
const kinds: readonly Kind[] = [
  {
    code: 'context_too_long',
    status: /^(?!429)/,
    words: tooLong,
    told: '{} finds the conversation too long',
  },
  // A connection may also be lost after the answer has begun with a good status.
  {
    code: 'connection_lost',
    status: /none|^2/,
    words: lost,
    mayRetry: true,
    told: 'The connection to {} failed',
  },
  { code: 'unauthorized', status: /^40[13]$/, told: '{} does not accept the key' },
  { code: 'rejected', status: /^404$/, told: '{} does not know this' },
  { code: 'rate_limited', status: /^429$/, words: noCredit, told: '{} refuses for lack of credit' },
  { code: 'rate_limited', status: /^429$/, mayRetry: true, told: '{} allows no more requests now' },
  { code: 'unavailable', status: /^(?:408|409|5..)$/, mayRetry: true, told: '{} could not answer' },
  { code: 'malformed_answer', status: /^2/, told: '{} sent what cannot be read' },
  {
    code: 'malformed_answer',
    status: /none/,
    words: unreadable,
    told: '{} sent what cannot be read',
  },
  {
    code: 'unavailable',
    status: /none/,
    words: trouble,
    mayRetry: true,
    told: '{} could not answer',
  },
  { code: 'rejected', told: '{} rejects the request' },
]

/** Reads what a provider's client threw, or put into its stream. */
export function readFailure(error: unknown, provider: string): FailedRequest {
  const { statusCode, responseBody = '', responseHeaders = {} } = (error ?? {}) as CallError
  const said = saidBy(error, responseBody)
  const evidence = `${listEvidence(error).join(' ')} ${said}`
  const status = String(statusCode ?? statusIn(error) ?? 'none')
  const isKind = (kind: Kind) =>
    (kind.status?.test(status) ?? true) && (kind.words?.test(evidence) ?? true)
  const { code, told, mayRetry = false } = kinds.find(isKind) as Kind
  const shown = /^[45]/.test(status) ? ` (${status})` : ''
  const message = `${told.replace('{}', () => provider)}${shown}: ${said}`
  const retryAfterMs = readRetryAfter(responseHeaders) ?? readPauseInWords(said)
  return { failure: { code, message }, mayRetry, retryAfterMs }
}

/** An error object of a stream may hold the status as its `code`. */
function statusIn(error: unknown): number | null {
  if (!isObject(error) || error instanceof Error) return null
  const { code } = error
  return typeof code === 'number' && code >= 400 ? code : statusIn(error['error'])
}

/** The names, codes and kinds of an error and of what is behind it, and what its causes say. */
function listEvidence(error: unknown): string[] {
  if (error instanceof Error) {
    return [error.name, codeOf(error) ?? '', error.message, ...listEvidence(error.cause)]
  }
  if (!isObject(error)) return []
  return [String(error['type']), String(error['code']), ...listEvidence(error['error'])]
}

/** A person is told so many characters of what a server says. */
const saidChars = 300

/** The server's own words if it gives any, else those of the error and its causes. */
function saidBy(error: unknown, body: string): string {
  const own = readMessage(body)
  if (own !== null) return clip(own)
  if (!(error instanceof Error)) return clip(readMessage(JSON.stringify(error)) ?? String(error))
  let told = messageOf(error)
  for (let at = error.cause; at instanceof Error; at = at.cause) {
    if (!told.includes(at.message)) told += `: ${at.message}`
  }
  // Bun's fetch adds advice for programmers.
  return clip(told.replace(/\. For more information, pass `verbose: true`.*/, ''))
}

function readMessage(body: string | undefined): string | null {
  if (body === undefined || body === '') return null
  try {
    const value = JSON.parse(body) as { error?: unknown; message?: unknown }
    const inner = (value?.error ?? value) as { message?: unknown } | string
    if (typeof inner === 'string') return inner
    return typeof inner?.message === 'string' ? inner.message : null
  } catch {
    // No JSON: the page of a proxy says nothing, any other text may do.
    return /^\s*</.test(body) ? null : body
  }
}

function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= saidChars ? line : `${startOf(line, saidChars)}…`
}

/** Seconds, or a date (RFC 9110, section 10.2.3). */
function readRetryAfter(headers: Readonly<Record<string, string>>): number | null {
  const exact = Number(headers['retry-after-ms'])
  if (exact > 0) return exact
  const text = headers['retry-after']
  if (text === undefined) return null
  const seconds = Number(text)
  const ms = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1000
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

/** `Please try again in 1m2.5s`, `retry after 26 seconds`: some servers say it in their sentence only. */
function readPauseInWords(said: string): number | null {
  const form = /(?:try again|retry) (?:in|after) (?:(\d+) ?m(?!s)[a-z]* ?)?(?:([\d.]+) ?(m?)s)?/i
  const [, minutes = 0, count = 0, milli = ''] = form.exec(said) ?? []
  const ms = Number(minutes) * 60_000 + Number(count) * (milli === '' ? 1000 : 1)
  return ms > 0 ? ms : null
}
