import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Request } from '../../protocol/request/request.ts'
import { isWithin } from './paths.ts'
import type { SandboxPlaces } from './sandbox-places.ts'

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

/** Caches in the home without which a tool gives up, where it cannot write them. */
const caches: Readonly<Record<string, string>> = {
  npm_config_cache: '.npm',
  GOCACHE: '.cache/go-build',
}

/** Sends what is written to usual places to the sandbox's own temporary folder. A caller's word wins. */
export function redirectFiles(
  request: Request,
  env: Readonly<Record<string, string>>,
  { tmp, writable }: SandboxPlaces,
): Record<string, string> {
  const redirected: Record<string, string> = { TMPDIR: tmp }
  for (const name of ['TMP', 'TEMP']) if (name in env) redirected[name] = tmp
  for (const [name, folder] of Object.entries(caches)) {
    const usual = join(env['HOME'] ?? '/', folder)
    const works = name in env || writable.some((open) => isWithin(usual, open))
    if (!works) redirected[name] = join(tmp, 'nacre-cache', folder)
  }
  for (const name of Object.keys(request.env)) delete redirected[name]
  return redirected
}

/** The directory as its user names it, symbolic links and all, where that name leads there inside too. */
export function chooseDirectory({ cwd, tmp }: SandboxPlaces): string {
  const replaced = ['/run', '/tmp', tmp].some((folder) => isWithin(cwd, folder))
  return replaced ? realpathSync(cwd) : cwd
}
