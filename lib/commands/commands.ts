import type { Command } from '../doors/command.ts'

/** Every subcommand by its name, loaded when it is called for. */
export const commands: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  job: () => import('./job/command.ts'),
  mcp: () => import('../doors/mcp/command.ts'),
  acp: () => import('../doors/acp/command.ts'),
  artifact: () => import('./artifact/command.ts'),
  guard: () => import('./guard/command.ts'),
  config: () => import('./config/command.ts'),
  doctor: () => import('./doctor/command.ts'),
  completion: () => import('./completion/command.ts'),
  reap: () => import('./reap/command.ts'),
  carry: () => import('./carry.ts'),
  'take-up': () => import('./take-up.ts'),
  supervise: () => import('./supervise/command.ts'),
}

/** What stands in the help, in the order of the table. */
export async function listCommands(): Promise<Command[]> {
  const modules = await Promise.all(Object.values(commands).map((load) => load()))
  return modules.map(({ command }) => command).filter(({ hidden }) => !hidden)
}
