/** The names of a path, without `.`, `..` and empty ones. The path counts as absolute. */
export function pathNames(path: string): string[] {
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '' && name !== '.') names.push(name)
  }
  return names
}

/** The same, seen from a directory. */
export const absoluteNames = (path: string, directory: string): string[] =>
  pathNames(path.startsWith('/') ? path : `${directory}/${path}`)

export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
