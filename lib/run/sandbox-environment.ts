import { realpathSync } from 'node:fs'
import { isWithin, type SandboxPlaces } from './sandbox-places.ts'

/** Variables by which the loader, the C library or a shell takes code or settings from files. */
const loaderVariable =
  /^(LD_|DYLD_|MALLOC_|BASH_FUNC_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|NLSPATH$|ENV$|BASH_ENV$|SHELLOPTS$|BASHOPTS$|PS4$)/

/**
 * What a run's environment could make of the programs that build the sandbox around it must not
 * reach them: `LD_PRELOAD` would run the command's own code outside.
 */
export function separateLoaderVariables(env: Readonly<Record<string, string>>): {
  outside: Record<string, string>
  inside: Record<string, string>
} {
  const outside: Record<string, string> = {}
  const inside: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (loaderVariable.test(name)) inside[name] = value
    else outside[name] = value
  }
  return { outside, inside }
}

/** The directory as its user names it, symbolic links and all, where that name leads there inside too. */
export function chooseDirectory({ cwd, tmp }: SandboxPlaces): string {
  const replaced = ['/run', '/tmp', tmp].some((folder) => isWithin(cwd, folder))
  return replaced ? realpathSync(cwd) : cwd
}
