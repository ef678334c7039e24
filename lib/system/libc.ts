import { bun, isDeno } from './runtime.ts'

/** How a call passes a value: a number of so many bits, the address of bytes, or an address as another call gave it. */
type Passed = 'i32' | 'u64' | 'usize' | 'buffer' | 'pointer'

/** For each call the type of its result, then those of its arguments. */
export type Declared<Calls> = Readonly<Record<keyof Calls, readonly [Passed, ...Passed[]]>>

/** The C library, as Bun and Deno call it. */
export interface Libc<Calls> {
  calls: Calls
  /** The error number of the last call that failed. */
  errno(): number
  /** Where the bytes are in memory. */
  address(bytes: Uint8Array): number | bigint
}

const isMac = process.platform === 'darwin'
/** Under the name of glibc's library, to which musl answers too. */
const library = isMac ? 'libSystem.B.dylib' : 'libc.so.6'
const errnoCall = isMac ? '__error' : '__errno_location'

/** What a runtime's foreign function interface gives of a library. */
interface Opened<Calls> {
  symbols: Calls & Record<string, () => unknown>
}

interface BunForeign<Calls> {
  dlopen(library: string, calls: Record<string, { args: string[]; returns: string }>): Opened<Calls>
  ptr(bytes: Uint8Array): number
  read: { i32(address: unknown, offset: number): number }
}

interface DenoForeign<Calls> {
  dlopen(
    library: string,
    calls: Record<string, { parameters: string[]; result: string }>,
  ): Opened<Calls>
  UnsafePointer: { of(bytes: Uint8Array): unknown; value(pointer: unknown): bigint }
  UnsafePointerView: new (pointer: unknown) => { getInt32(): number }
}

/** Null: this runtime cannot call it. */
export function openLibc<Calls extends object>(declared: Declared<Calls>): Libc<Calls> | null {
  const all = { ...declared, [errnoCall]: ['pointer'] } as Record<string, [Passed, ...Passed[]]>
  const describeAll = <Description>(describe: (result: Passed, taken: Passed[]) => Description) =>
    Object.fromEntries(
      Object.entries(all).map(([name, [result, ...taken]]) => [name, describe(result, taken)]),
    )
  if (bun !== null) {
    const foreign = process.getBuiltinModule('bun:ffi') as BunForeign<Calls>
    const name = (type: Passed) => (type === 'buffer' || type === 'pointer' ? 'ptr' : type)
    const described = describeAll((result, taken) => ({
      args: taken.map(name),
      returns: name(result),
    }))
    const { symbols } = foreign.dlopen(library, described)
    return {
      calls: symbols,
      errno: () => foreign.read.i32(symbols[errnoCall]?.(), 0),
      address: (bytes) => foreign.ptr(bytes),
    }
  }
  if (!isDeno) return null
  const { Deno: foreign } = globalThis as unknown as { Deno: DenoForeign<Calls> }
  const described = describeAll((result, parameters) => ({ parameters, result }))
  const { symbols } = foreign.dlopen(library, described)
  return {
    calls: symbols,
    errno: () => new foreign.UnsafePointerView(symbols[errnoCall]?.()).getInt32(),
    address: (bytes) => foreign.UnsafePointer.value(foreign.UnsafePointer.of(bytes)),
  }
}
