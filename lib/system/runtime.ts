/** The parts of other runtimes' globals that are used here; in Node there are none. */
export interface BunRuntime {
  readonly version: string
  readonly semver: { satisfies(version: string, range: string): boolean }
  /** `/$bunfs/…` in an executable that Bun has compiled. */
  readonly main: string
  file(descriptor: number): { stream(): ReadableStream<Uint8Array<ArrayBuffer>> }
  /** Throws the system's error where the process cannot be started. */
  spawn(start: BunStart): BunProcess
}

/** The options of `Bun.spawn` that are used here. */
export interface BunStart {
  /** The program and its words. */
  cmd: string[]
  /** What the program is called as. */
  argv0: string
  cwd?: string | undefined
  env: Readonly<Record<string, string | undefined>>
  stdio: (number | 'inherit' | null)[]
  detached: boolean
  /** The folder of a control group that the kernel makes the process in. */
  cgroup?: string | undefined
  /** `signal` is a number where it has no name. */
  onExit(self: BunProcess, code: number | null, signal: NodeJS.Signals | number | null): void
}

export interface BunProcess {
  readonly pid: number
  ref(): void
  unref(): void
}

interface ForeignGlobals {
  readonly Bun?: BunRuntime
  readonly Deno?: object
}

/** The part of `node:sea` that is used here. */
interface SingleExecutable {
  isSea(): boolean
  getRawAsset(name: string): ArrayBuffer
}

const foreign = globalThis as ForeignGlobals

/** Bun's own interface; null in another runtime. */
export const bun: BunRuntime | null = foreign.Bun ?? null

/** Whether processes can be started in a control group: an older Bun would pass over that option of its spawn. */
export const startsInGroups: boolean = bun?.semver.satisfies(bun.version, '>=1.4.5') ?? false

export const isDeno = foreign.Deno !== undefined

/** Whether the program that runs is nacre and its runtime in one file. */
export function isSingleExecutable(): boolean {
  if (bun !== null) return bun.main.startsWith('/$bunfs/')
  return findSea() !== null
}

/** Node's way to what an executable carries; null in every other program. */
export function findSea(): SingleExecutable | null {
  // Deno has no `node:sea`.
  const sea = process.getBuiltinModule('node:sea') as SingleExecutable | undefined
  return sea?.isSea() ? sea : null
}

/**
 * Where this file is, for `createRequire`: a path in CommonJS, a URL in a module. Bundled, it is where the
 * bundle is. A module that `node -e` imports sees the `__filename` of that script, which is no path.
 */
export const ownPlace: string =
  typeof __filename === 'string' && __filename !== '[eval]' ? __filename : import.meta.url

/** The words that start this nacre once more: the executable itself, else the runtime with its entry. */
export function programWords(self: NodeJS.Process): string[] {
  return isSingleExecutable() ? [self.execPath] : runtimeWords(self.argv[1] ?? '', self.execArgv)
}

/** The words that start a file of JavaScript by this very runtime; options are those of Node and Bun. */
export function runtimeWords(entry: string, options: readonly string[] = []): string[] {
  if (isDeno) return [process.execPath, 'run', '-A', '-q', entry]
  return [process.execPath, ...options, entry]
}

/**
 * A handle of a child process that can keep this process alive. Bun's streams of a child have neither method.
 */
interface Handle {
  ref?(): void
  unref?(): void
}

/** Sets whether the handles keep this process alive. */
export function setReferenced(handles: readonly (Handle | null)[], referenced: boolean): void {
  for (const handle of handles) {
    if (referenced) handle?.ref?.()
    else handle?.unref?.()
  }
}
