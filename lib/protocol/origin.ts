/** What holds for a run because of who asked for it, unless the request says otherwise. */
export interface OriginPolicy {
  /** The rules of the guard: all of them, or those against great harm alone. */
  readonly guardRules: 'all' | 'harm'
  /** Who is told how a denied command could run all the same: the caller by a flag, or its user. */
  readonly liftedBy: 'caller' | 'user'
  /** `unwatched`: the environment is for programs that nobody watches, unless a person sits at the input. */
  readonly hardening: 'always' | 'unwatched' | 'never'
  readonly sandbox: 'off' | 'auto'
  /** A run gets the person's own shell (`$SHELL`), as a login shell; else bash, as a plain one. */
  readonly ownShell: boolean
  /** Whether keys of model providers, and what else looks like a secret, are withheld from the command. */
  readonly withholdsKeys: boolean
  /** Whether a run in a fresh shell has the person's functions, aliases and variables; sessions have. */
  readonly takesSetUp: boolean
  /** Whether the configured prefix is put before the shell. */
  readonly takesPrefix: boolean
  readonly streams: 'merged' | 'separate'
  readonly truncate: 'head-tail' | 'tail'
  /** Its text is cleaned and bounded for a program too, which gets all output of its own runs. */
  readonly bounded: boolean
  /** Whether a run has a deadline though none was asked for. */
  readonly deadline: boolean
  /** Whether a deadline is kept within the limits for a model. */
  readonly clamped: boolean
}

const ofModel: OriginPolicy = {
  guardRules: 'all',
  liftedBy: 'user',
  hardening: 'always',
  sandbox: 'off',
  ownShell: false,
  withholdsKeys: true,
  takesSetUp: true,
  takesPrefix: true,
  streams: 'merged',
  truncate: 'tail',
  bounded: true,
  deadline: true,
  clamped: true,
}

const ofUser: OriginPolicy = {
  guardRules: 'harm',
  liftedBy: 'caller',
  hardening: 'always',
  sandbox: 'off',
  ownShell: true,
  withholdsKeys: false,
  takesSetUp: false,
  takesPrefix: false,
  streams: 'merged',
  truncate: 'tail',
  bounded: false,
  deadline: false,
  clamped: false,
}

/** Every origin of a request, with what holds for it: a new front door is a row. */
const policies = {
  repl: { ...ofUser, hardening: 'never', truncate: 'head-tail' },
  print: { ...ofUser, hardening: 'unwatched', ownShell: false },
  rpc: { ...ofUser, streams: 'separate', deadline: true },
  agent: { ...ofModel, sandbox: 'auto' },
  mcp: ofModel,
} as const satisfies Readonly<Record<string, OriginPolicy>>

/** Who asked for a run. */
export type Origin = keyof typeof policies

export const originPolicies: Readonly<Record<Origin, OriginPolicy>> = policies

/** Whether the shell of a run is the one that its user has chosen for their logins. */
export function takesOwnShell(request: {
  origin: Origin
  shell: string | null
  login: boolean
}): boolean {
  return request.shell === null && request.login && originPolicies[request.origin].ownShell
}

export const origins = Object.keys(policies) as [Origin, ...Origin[]]
