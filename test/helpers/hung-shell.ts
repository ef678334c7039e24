import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The path of a `bash` in this folder that never gets ready: it waits until it is ended. */
export function makeHungShell(folder: string): string {
  const shell = join(folder, 'bash')
  const pipe = join(folder, 'never-written')
  execFileSync('mkfifo', [pipe])
  writeFileSync(shell, `#!/bin/sh\nread -r line <'${pipe}'\n`, { mode: 0o755 })
  return shell
}
