import { spawn } from 'node:child_process'

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
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  child.stdin.on('error', () => undefined)
  child.stdin.end(how.input)
  const over = setTimeout(() => child.kill('SIGKILL'), how.mostMs)
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      said.stderr += error.message
      resolve(null)
    })
    child.once('close', resolve)
  })
  clearTimeout(over)
  return { ...said, code }
}
