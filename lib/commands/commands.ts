import type { Command } from '../doors/command.ts'

type CommandTable = Readonly<Record<string, () => Promise<{ command: Command }>>>

/** The subcommands that people use, by their names in the order of the help; loaded when one is called for. */
export const commands: CommandTable = {
  job: () => import('./job.ts'),
  mcp: () => import('../doors/mcp/command.ts'),
  acp: () => import('../doors/acp/command.ts'),
  artifact: () => import('./artifact.ts'),
  guard: () => import('./guard.ts'),
  config: () => import('./config.ts'),
  doctor: () => import('./doctor.ts'),
  completion: () => import('./completion.ts'),
}

/** Those that nacre calls itself. */
export const innerCommands: CommandTable = {
  reap: async () => ({ command: (await import('./supervise.ts')).reapCommand }),
  carry: () => import('./carry.ts'),
  supervise: () => import('./supervise.ts'),
}

export async function listCommands(): Promise<Command[]> {
  const modules = await Promise.all(Object.values(commands).map((load) => load()))
  return modules.map(({ command }) => command)
}
