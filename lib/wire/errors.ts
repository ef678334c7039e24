import { messageOf, MisuseError } from '../protocol/errors.ts'
import type { RpcErrorObject } from '../protocol/rpc/methods.ts'

/** The codes of JSON-RPC 2.0, section 5.1; `failed` is the one left to servers. */
export const errorCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  failed: -32_000,
} as const

/** Kinds of misuse that speak of the parameters of a method. */
const paramCodes = new Set(['invalid_field', 'unknown_field', 'missing_field', 'empty_command'])

/** An error as JSON-RPC has it: misuse names the field, everything else has `data.code`. */
export function toErrorObject(error: unknown): RpcErrorObject {
  if (!(error instanceof MisuseError)) {
    return { code: errorCodes.internal, message: messageOf(error), data: { code: 'internal' } }
  }
  const { code, message, field } = error
  if (!paramCodes.has(code)) return { code: errorCodes.failed, message, data: { code } }
  return {
    code: errorCodes.invalidParams,
    message,
    data: field === null ? { code } : { code, field },
  }
}

/** What an error of the other side was before it went over the wire. */
export function fromErrorObject({
  code,
  message,
  data,
}: {
  code: number
  message: string
  data?: RpcErrorObject['data'] | undefined
}): Error {
  if (code === errorCodes.internal || !data) return new Error(message)
  return new MisuseError(data.code, message, data.field ?? null)
}
