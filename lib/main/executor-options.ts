import { dirname, resolve } from 'node:path'
import { placeOptions } from '../cli/options.ts'
import { programWords } from '../system/runtime.ts'
import type { Configuration } from '../config/configuration.ts'
import { logicalDirectory, stateDirectory, userConfigFile } from '../config/paths.ts'
import type { ExecutorOptions } from '../executor/executor.ts'
import type { RunFields } from '../protocol/request/request.ts'
import type { UserRule } from '../protocol/user-rule.ts'

/** What a front door wants of its executor. */
export interface DoorOptions {
  toTerminal: boolean
  /** A person sits at the standard input. */
  personAtInput?: boolean
  artifactDir?: string | null
  /** What flags say of every run; it wins over what is configured. */
  run?: RunFields
  /** The door gives what shapes one run with that run. */
  givesRunOptions?: boolean
  /** Rules of this call, over those that are configured. */
  rules?: readonly UserRule[]
  toolNames?: readonly string[] | (() => readonly string[])
  holder?: ExecutorOptions['holder']
  /** Its runs outlive it even where it is killed. */
  leavesRuns?: boolean
}

/** What is configured, as the executor takes it. */
export function executorOptions(configuration: Configuration, door: DoorOptions): ExecutorOptions {
  const artifactDir = door.artifactDir ?? configuration.artifactDir
  const cwd = logicalDirectory(process.env)
  const { run = {} } = door
  const { defaults } = configuration
  return {
    cwd,
    // The environment is copied, since every look at `process.env` asks the system for all of it.
    environment: { ...process.env },
    stateDir: stateDirectory(process.env),
    ...(artifactDir === null ? {} : { artifactDir }),
    artifactLimits: configuration.artifactLimits,
    defaults: {
      ...defaults,
      ...(door.givesRunOptions ? placeOptions(run) : run),
      ...(run.cwd !== undefined && { cwd: resolve(cwd, run.cwd) }),
      ...(run.workspace !== undefined && { workspace: resolve(cwd, run.workspace) }),
      env: { ...defaults.env, ...run.env },
    },
    timeoutSeconds: configuration.timeoutSeconds,
    terminals: configuration.neverTerminals ? 'off' : run.pty ? 'auto' : configuration.terminals,
    prefix: configuration.prefix,
    personAtInput: door.personAtInput ?? false,
    hosts: configuration.hosts,
    agentHosts: configuration.agentHosts,
    modelKeys: Object.values(configuration.providers).flatMap(({ keyEnv }) => keyEnv ?? []),
    guardOptions: {
      rules: [...configuration.guardRules, ...(door.rules ?? [])],
      defaultDecision: configuration.guardDefault,
      suggestTool: configuration.suggestTool,
      toolNames: door.toolNames ?? [],
    },
    sandbox: {
      hidden: [dirname(userConfigFile(process.env)), ...configuration.hiddenPaths],
      writable: configuration.writableFolders,
      fallback: configuration.sandboxMayFallBack && run.sandbox === undefined,
    },
    reaper: [...programWords(process), 'reap'],
    pruner: [...programWords(process), 'artifact', 'prune'],
    taker: [...programWords(process), 'take-up'],
    ...(door.holder && { holder: door.holder }),
    declaresRuns: door.leavesRuns ?? false,
    toTerminal: door.toTerminal,
  }
}
