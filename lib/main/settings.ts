import { dirname, join, resolve } from 'node:path'
import type { AgentSettings } from '../agent/session.ts'
import { placeOptions } from '../cli/invocation.ts'
import {
  type Configuration,
  logicalDirectory,
  stateDirectory,
  userConfigFile,
  readConfiguration,
} from '../config/configuration.ts'
import type { CommandConfiguration } from '../doors/command.ts'
import type { Streams } from '../doors/streams.ts'
import type { ExecutorOptions } from '../executor/executor.ts'
import { originPolicies } from '../protocol/origin.ts'
import type { PromptOptions } from '../protocol/prompt.ts'
import type { RunFields } from '../protocol/request/request.ts'
import type { UserRule } from '../protocol/rules.ts'
import { toCamelCase } from '../protocol/wire.ts'
import { programWords } from '../system/runtime.ts'

/** Reads the configuration once; of the flags, those that say where it lies. */
export function configure(options: Readonly<Record<string, unknown>>): Promise<Configuration> {
  return readConfiguration({
    environment: process.env,
    cwd: logicalDirectory(process.env),
    runCwd: options['cwd'] as string | undefined,
    workspace: options['workspace'] as string | undefined,
  })
}

/** Tells what was ignored in the files. */
export async function tellNotices({ notices }: Configuration, { stderr }: Streams): Promise<void> {
  for (const notice of notices) await stderr.write(`nacre: ${notice}\n`)
}

/** What a subcommand may know of the configuration. */
export async function describeConfiguration(
  options: Readonly<Record<string, unknown>>,
): Promise<CommandConfiguration> {
  const configuration = await configure(options)
  const { configurationSchema, reportKeys } = await import('../config/keys.ts')
  const { files, notices, entries, values, candidates } = configuration
  return {
    files,
    notices,
    model: values.model ?? null,
    keys: reportKeys(entries, values),
    places: candidates.map((path) => ({ path, isThere: files.includes(path) })),
    schema: configurationSchema,
  }
}

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
  /** Its runs outlive it even where it is killed. */
  leavesRuns?: boolean
}

/** What is configured, as the executor takes it. */
export function executorOptions(configuration: Configuration, door: DoorOptions): ExecutorOptions {
  const { defaults, values } = configuration
  const artifactDir = door.artifactDir ?? values.artifact_dir
  const cwd = logicalDirectory(process.env)
  const { run = {} } = door
  const { prefix = [], providers = {} } = values
  const program = programWords(process)
  return {
    cwd,
    // The environment is copied, since every look at `process.env` asks the system for all of it.
    environment: { ...process.env },
    stateDir: stateDirectory(process.env),
    ...(artifactDir === undefined ? {} : { artifactDir }),
    artifactLimits: readGroup(values, 'artifacts'),
    defaults: {
      ...defaults,
      ...(door.givesRunOptions ? placeOptions(run) : run),
      ...(run.cwd !== undefined && { cwd: resolve(cwd, run.cwd) }),
      ...(run.workspace !== undefined && { workspace: resolve(cwd, run.workspace) }),
      env: { ...defaults.env, ...run.env },
    },
    timeoutSeconds: readGroup(values, 'timeouts'),
    terminals: configuration.neverTerminals ? 'off' : run.pty ? 'auto' : (values.pty ?? 'auto'),
    // One text is a program with its arguments.
    prefix: typeof prefix === 'string' ? prefix.split(/\s+/).filter(Boolean) : prefix,
    personAtInput: door.personAtInput ?? false,
    hosts: values.hosts ?? {},
    agentHosts: values.agent_hosts ?? [],
    passEnv: values['agent.pass_env'] ?? [],
    audit: values.audit ?? 'on',
    modelKeys: Object.values(providers).flatMap(({ keyEnv }) => keyEnv ?? []),
    guardOptions: {
      rules: [...(values['guard.rules'] ?? []), ...(door.rules ?? [])],
      defaultDecision: values['guard.default'] ?? 'allow',
      suggestTool: values['guard.suggest_tool'] ?? false,
      toolNames: door.toolNames ?? [],
    },
    sandbox: {
      hidden: [dirname(userConfigFile(process.env)), ...(values.hidden_paths ?? [])],
      writable: values.writable_folders ?? [],
      visible: values.visible_paths ?? [],
    },
    program,
    holder: holderOf(door, program),
    isHolder: door.leavesRuns ?? false,
    toTerminal: door.toTerminal,
  }
}

/** The keys of a group by their names within it: `timeouts.slow` as `slow`. */
function readGroup(values: Configuration['values'], group: string): Record<string, number> {
  const prefix = `${group}.`
  const found = Object.entries(values).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(
    found.map(([name, value]) => [toCamelCase(name.slice(prefix.length)), Number(value)]),
  )
}

/** How the process is started that holds what may outlive this one: it finds the same configuration and rules. */
function holderOf(
  { artifactDir, run = {}, givesRunOptions, rules = [], toolNames = [] }: DoorOptions,
  program: readonly string[],
): NonNullable<ExecutorOptions['holder']> {
  const { cwd, workspace, ...fields } = givesRunOptions ? placeOptions(run) : run
  return {
    words() {
      const options = Object.entries({
        'artifact-dir': [artifactDir],
        cwd: [cwd],
        workspace: [workspace],
        allow: rules.map(({ match }) => match),
        'tool-names': typeof toolNames === 'function' ? toolNames() : toolNames,
      })
      const given = options.flatMap(([name, values]) =>
        values.flatMap((value) => (value ? [`--${name}`, value] : [])),
      )
      return [...program, 'supervise', ...given]
    },
    fields,
  }
}

/** What is configured and asked for of a model that works here. */
export function agentSettings(
  configuration: Configuration,
  { run, prompt }: { run: RunFields; prompt: PromptOptions },
): AgentSettings {
  const base = logicalDirectory(process.env)
  const cwd = resolve(base, run.cwd ?? configuration.defaults.cwd ?? '.')
  const workspace = run.workspace ?? configuration.defaults.workspace
  const sandbox = run.sandbox ?? configuration.defaults.sandbox ?? originPolicies.agent.sandbox
  const { timeoutSeconds = null } = run
  return {
    model: prompt.model ?? configuration.values.model ?? null,
    providers: configuration.values.providers ?? {},
    environment: { ...process.env },
    cwd,
    workspace: workspace === undefined ? null : resolve(base, workspace),
    userFolder: dirname(userConfigFile(process.env)),
    conversationFolder: prompt.keep ? join(stateDirectory(process.env), 'conversations') : null,
    sandbox,
    limits: {
      maxSteps: prompt.maxSteps,
      maxCostUsd: prompt.maxCostUsd,
      timeoutMs: timeoutSeconds === null ? null : timeoutSeconds * 1000,
    },
    saysYes: prompt.yes,
  }
}
