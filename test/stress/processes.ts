import { readdirSync, readFileSync } from 'node:fs'

/** A process as its words show it. */
export interface Shown {
  pid: number
  words: string[]
}

/** The processes that have `text` anywhere in their words; one that has ended has none. */
export function findByWords(text: string): Shown[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
      return line.includes(text) ? [{ pid, words: line.split('\0').slice(0, -1) }] : []
    } catch {
      return []
    }
  })
}

/** Of these, the ones that are up: a word of theirs is the token, or a path that ends with it. */
export function countUp(token: string): number {
  return findByWords(token).filter(({ words }) =>
    words.some((word) => word === token || word.endsWith(`/${token}`)),
  ).length
}

export function describe({ pid, words }: Shown): string {
  return `${pid} ${words.join(' ').slice(0, 120)}`
}

/** A number that `sleep` takes for some years and that no other process has among its words. */
export function createToken(): string {
  return `9${String(Math.floor(Math.random() * 1e8)).padStart(8, '0')}`
}
