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
  /** The pause that the server asks for; null where it asks for none. */
  retryAfterMs: number | null
}

/** The part of the library's error of a request (`APICallError`) that is read here. */
interface CallError {
  statusCode?: number
  responseBody?: string
  responseHeaders?: Record<string, string>
}

/** What a context that is too long is called by the providers. */
const tooLong =
  /context[ _]length|context window|maximum context|prompt is too long|too many tokens|input is too long|exceeds? the (?:available |model'?s? )?context|reduce the length/i
const noCredit = /insufficient_quota|exceeded your current quota|credit balance/i

/** Reads what a provider's client threw, or put into its stream. */
export function readFailure(error: unknown, provider: string): FailedRequest {
  const { statusCode, responseBody = '', responseHeaders = {} } = (error ?? {}) as CallError
  const said = saidBy(error, responseBody)
  const fail = (code: string, message: string, mayRetry = false): FailedRequest => ({
    failure: { code, message },
    mayRetry,
    retryAfterMs: readRetryAfter(responseHeaders) ?? readPauseInWords(said),
  })
  if (tooLong.test(said) && statusCode !== 429) {
    return fail('context_too_long', `The conversation is too long for this model: ${said}`)
  }
  // A connection may also be lost after the answer has begun with a good status.
  if ((statusCode === undefined || statusCode < 300) && isLostConnection(error)) {
    return fail('connection_lost', `The connection to ${provider} failed: ${said}`, true)
  }
  switch (statusCode) {
    case undefined:
      return readWithoutStatus(kindOf(error), said, provider, fail)
    case 401:
    case 403:
      return fail('unauthorized', `${provider} does not accept the key (${statusCode}): ${said}`)
    case 404:
      return fail('rejected', `${provider} does not know this (404): ${said}`)
    case 429:
      return noCredit.test(said)
        ? fail('rate_limited', `${provider} refuses for lack of credit (429): ${said}`)
        : fail('rate_limited', `${provider} allows no more requests now (429): ${said}`, true)
    case 408:
    case 409:
      return fail('unavailable', `${provider} could not answer (${statusCode}): ${said}`, true)
    default: {
      if (statusCode >= 500) {
        return fail('unavailable', `${provider} could not answer (${statusCode}): ${said}`, true)
      }
      const isSound = statusCode < 300
      return isSound
        ? fail('malformed_answer', `${provider} sent what cannot be read: ${said}`)
        : fail('rejected', `${provider} rejects the request (${statusCode}): ${said}`)
    }
  }
}

type Fail = (code: string, message: string, mayRetry?: boolean) => FailedRequest

/** Names of errors in streams that are the server's own trouble. */
const serverTrouble = /overloaded|rate_limit|api_error|server_error|timeout|unavailable|internal/i

function readWithoutStatus(
  kind: string,
  said: string,
  provider: string,
  fail: Fail,
): FailedRequest {
  if (/parse|validation|invalidresponse|typevalidation/i.test(kind)) {
    return fail('malformed_answer', `${provider} sent what cannot be read: ${said}`)
  }
  if (serverTrouble.test(kind)) {
    return fail('unavailable', `${provider} could not answer: ${said}`, true)
  }
  return fail('rejected', `${provider} failed: ${said}`)
}

/** An error object of a stream says its kind in `type` or `code`, an exception in its name. */
function kindOf(error: unknown): string {
  if (error instanceof Error) return error.name
  if (!isObject(error)) return ''
  const { type, code } = error
  const kinds = [type, code].filter((kind) => typeof kind === 'string')
  const isTrouble = typeof code === 'number' && (code === 429 || code >= 500)
  return [...kinds, ...(isTrouble ? ['unavailable'] : []), kindOf(error['error'])].join(' ')
}

const lostCodes =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|UND_ERR/

function isLostConnection(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (lostCodes.test(codeOf(at) ?? '')) return true
    if (
      /fetch failed|terminated|other side closed|cannot connect|error sending|connection/i.test(
        at.message,
      )
    ) {
      return true
    }
  }
  return false
}

/** A person is told so many characters of what a server says. */
const saidChars = 300

/** The server's own words where it gives any, else those of the error and its causes. */
function saidBy(error: unknown, body: string): string {
  const own = readMessage(body)
  if (own !== null) return clip(own)
  if (!(error instanceof Error)) return clip(readMessage(JSON.stringify(error)) ?? String(error))
  let told = messageOf(error)
  for (let at = error.cause; at instanceof Error; at = at.cause) {
    if (!told.includes(at.message)) told += `: ${at.message}`
  }
  return clip(told.replace(adviceOfBun, ''))
}

/** Bun's fetch adds this advice for programmers to its errors. */
const adviceOfBun =
  /\. For more information, pass `verbose: true` in the second argument to fetch\(\)/

function readMessage(body: string | undefined): string | null {
  if (body === undefined || body === '') return null
  try {
    const value = JSON.parse(body) as { error?: unknown; message?: unknown }
    const inner = (value?.error ?? value) as { message?: unknown; code?: unknown } | string
    if (typeof inner === 'string') return inner
    return typeof inner?.message === 'string' ? inner.message : null
  } catch {
    // No JSON: a page of a proxy, of which the first words must do.
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
