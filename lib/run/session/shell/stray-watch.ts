import { fstatSync, readlinkSync } from 'node:fs'
import { holdsFile } from '../../../system/process/process-details.ts'
import { readCpuMs } from '../../../system/process/process-table.ts'
import { findBlockedReader } from '../../terminal/blocked-reader.ts'

const lookEveryMs = 250
/** A shell that waits here is seen so often: between two steps of a command it may pass by. */
const looksNeeded = 4
/**
 * One that spins in our part of its program, instead of waiting there, is seen elsewhere every now and then,
 * hardly so often in a row, and has used so much by then.
 */
const spin = { looksNeeded: 8, mostElsewhere: 8, usedMs: 300 }

/**
 * Tells where a run of a session would never end: the shell has come back from the command without a word
 * of its end, or the command itself reads from the session's own pipe (`inputFd`), into which nothing is
 * written before that end. While a command runs, the shell's standard input is the command's; only between
 * commands it is that pipe. A shell that waits there, or spins, has lost what it would tell the end with.
 * Linux only: elsewhere nothing shows it, and such a run goes on to its deadline.
 *
 * Gives a function that begins the watch of one run in the shell `pid`, and gives the one that ends it.
 */
export function createStrayWatch(
  inputFd: number,
  onStray: () => void,
): (pid: number) => () => void {
  if (process.platform !== 'linux') return () => () => undefined
  const own = fstatSync(inputFd)
  const ownLink = readlinkSync(`/proc/self/fd/${inputFd}`)

  function waitsForUs(pid: number): boolean {
    const reader = findBlockedReader(pid, (link) => link === ownLink)
    return reader !== null && !reader.isHidden
  }

  let watched: {
    pid: number
    isNew: boolean
    looks: number
    elsewhere: number
    usedMs: number
  } | null = null
  let timer: NodeJS.Timeout | null = null

  /** A run costs no timer of its own: one that finds no run ends. */
  function stop(): void {
    if (timer) clearInterval(timer)
    timer = null
  }

  function look(): void {
    if (watched === null) return stop()
    const { pid, isNew } = watched
    watched.isNew = false
    // The look that is due may come at once.
    if (isNew) return
    const waits = waitsForUs(pid)
    if (!waits && !holdsFile(pid, own)) {
      if (++watched.elsewhere > spin.mostElsewhere) watched.looks = 0
      return
    }
    watched.elsewhere = 0
    if (watched.looks++ === 0) watched.usedMs = readCpuMs(pid)
    const spins =
      watched.looks >= spin.looksNeeded && readCpuMs(pid) - watched.usedMs >= spin.usedMs
    if (!spins && !(waits && watched.looks >= looksNeeded)) return
    stop()
    onStray()
  }

  return (pid) => {
    watched = { pid, isNew: true, looks: 0, elsewhere: 0, usedMs: 0 }
    timer ??= setInterval(look, lookEveryMs).unref()
    return () => {
      watched = null
    }
  }
}
