import { statSync } from 'node:fs'

/** Whether there is a directory of that path; one that cannot be looked at is none. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
