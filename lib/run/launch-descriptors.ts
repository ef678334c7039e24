import { closeSync, openSync } from 'node:fs'
import type { Launch } from './launch.ts'

/** A launch's further descriptors, open for one start. */
export interface OpenDescriptors {
  /** In order, for the places from 3 on in `stdio`. */
  fds: number[]
  /** Once the process has them. */
  release(): void
}

export function openDescriptors({ descriptors = [] }: Launch): OpenDescriptors {
  const fds: number[] = []
  const release = () => {
    for (const fd of fds.splice(0)) closeSync(fd)
  }
  try {
    for (const { path, access } of descriptors) {
      fds.push(openSync(path, access === 'read' ? 'r' : 'w', 0o600))
    }
  } catch (error) {
    release()
    throw error
  }
  return { fds, release }
}

/** The same as redirections of a shell. */
export function redirectDescriptors({ descriptors = [] }: Launch, quote: (word: string) => string) {
  const redirections = descriptors.map(
    ({ path, access }, index) => `${3 + index}${access === 'read' ? '<' : '>'}${quote(path)}`,
  )
  return redirections.join(' ')
}
