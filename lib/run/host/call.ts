import { spawn } from 'node:child_process'
import { createDeferred } from '../../protocol/deferred.ts'
import { sendSignal } from '../../system/process/process-table.ts'

/** What a program has said until its end. */
export interface Said {
  /** Null: it could not be started, or had to be ended. */
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program of this machine to its end, so long at most. */
export async function callProgram(
  { file, args }: { file: string; args: readonly string[] },
  how: { mostMs: number; input?: string; env?: Readonly<Record<string, string | undefined>> },
): Promise<Said> {
  const child = spawn(file, args, { env: how.env, stdio: 'pipe', detached: true })
  const said: Said = { code: null, stdout: '', stderr: '' }
  const { promise, resolve: settle } = createDeferred<number | null>()
  child.once('error', (error) => {
    said.stderr += error.message
    settle(null)
  })
  child.once('close', settle)
  // There are no streams where the system had no descriptors for them.
  const { stdin, stdout, stderr } = child as Partial<typeof child>
  stdout?.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  stderr?.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  stdin?.on('error', () => undefined)
  stdin?.end(how.input)
  const over = setTimeout(() => {
    // What it has started may keep its streams open for ever.
    if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL')
    settle(null)
  }, how.mostMs)
  const code = await promise
  clearTimeout(over)
  stdout?.destroy()
  stderr?.destroy()
  return { ...said, code }
}
