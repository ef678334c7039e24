import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs `use` with a folder of its own and removes it afterwards. */
export async function withFolder(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'nacre-output-'))
  try {
    await use(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
