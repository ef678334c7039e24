import {
  closeSync,
  existsSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { lookIntoFile, lookIntoFolder } from '../../system/look.ts'
import { nowMs } from '../../system/clock.ts'
import { makeFilledFolder } from '../../system/temporary-folder.ts'
import { stateEnd } from './editor-dialect.ts'

/** A state that is being written is whole a moment later. */
const stateTimeoutMs = 10_000

/** A turn that is no longer finds its room on the disk however full that is by then: `rm` can still run. */
const turnBytes = 65_536

/** The files by which nacre and a shell talk beside its terminal. */
export interface ShellFiles {
  folder: string
  /** Null: the file `turn` of the folder, under whatever name the shell sees it. */
  turnPath: string | null
  /** Null: the shell cannot leave its state, since it may write nothing of ours. */
  statePath: string | null
  write(name: string, text: string): void
  turn(text: string): void
  readState(prompt: string): Promise<string>
  /** The shell has read what it reads by name. */
  hide(): void
  /** Settles when nothing of them is left. */
  close(): Promise<void>
}

/**
 * On Linux the shell reads its turns through a descriptor of nacre in `/proc`, so that no command has a
 * name; a shell in a sandbox, which does not see nacre, and others by name. The state always has a name:
 * what writes it may outlive its shell, and a descriptor that is closed by then may be any other file,
 * which would be overwritten.
 */
export function openShellFiles(visible: boolean): ShellFiles {
  const folder = makeFilledFolder('shell', (folder) => {
    writeFileSync(join(folder, 'turn'), Buffer.alloc(2 * turnBytes), { mode: 0o600 })
    // What the shell reads at its start takes the other half.
    truncateSync(join(folder, 'turn'), turnBytes)
  })
  const anonymous = visible && process.platform === 'linux'
  const turnFd = openSync(join(folder, 'turn'), 'r+')
  const statePath = join(folder, 'state')
  let open = true
  /** None where a command or a cleaner of temporary files has removed the folder: the shell goes on without. */
  const list = () => lookIntoFolder(folder)

  /** All but that behind the last prompt. */
  function removeOldStates(): void {
    const numbers = list()
      .filter(isState)
      .map((name) => Number(name.slice(6)))
    for (const number of numbers) {
      if (number < Math.max(...numbers)) rmSync(`${statePath}.${number}`, { force: true })
    }
  }
  return {
    folder,
    turnPath: anonymous ? `/proc/${process.pid}/fd/${turnFd}` : null,
    statePath: visible ? statePath : null,
    write: (name, text) => writeFileSync(join(folder, name), text, { mode: 0o600 }),
    turn(text) {
      // The number of the descriptor may be another file's by then.
      if (!open) return
      const bytes = Buffer.alloc(Math.max(turnBytes, Buffer.byteLength(text)))
      bytes.write(text)
      writeSync(turnFd, bytes, 0, bytes.length, 0)
      removeOldStates()
    },
    async readState(prompt) {
      const deadlineMs = nowMs() + stateTimeoutMs
      // Nothing is written into a folder that has been removed.
      while (visible && open && existsSync(folder)) {
        const text = lookIntoFile(`${statePath}.${prompt}`) ?? ''
        if (text.endsWith(`\n${stateEnd}${prompt}\n`)) return text
        if (nowMs() > deadlineMs) break
        await delay(10)
      }
      return ''
    },
    hide() {
      if (!anonymous) return
      for (const name of list()) {
        if (!isState(name)) rmSync(join(folder, name), { recursive: true })
      }
    },
    async close() {
      if (!open) return
      open = false
      closeSync(turnFd)
      // What writes the state may do so a moment longer than its shell lives.
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 20 })
    },
  }
}

function isState(name: string): boolean {
  return name.startsWith('state.')
}
