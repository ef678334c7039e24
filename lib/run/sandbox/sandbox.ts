import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ifSeen, ifThere, isWithin } from '../../system/look.ts'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { StartError } from '../../protocol/ports.ts'
import type { Request } from '../../protocol/request/request.ts'
import type { SandboxUse } from '../../protocol/result/result.ts'
import { chooseFirstWord, type Launch, type ShellUse } from '../launch.ts'
import { coverInherited, type GivenFile } from '../../system/process/spawn.ts'
import {
  canRestoreSignals,
  chooseDirectory,
  composeMounts,
  keepTypedSignals,
  redirectFiles,
  separateLoaderVariables,
  sharedFolder,
} from './sandbox-arguments.ts'
import { createSandboxFilter } from './sandbox-filter.ts'
import { findHostRunFiles, type HostRunFiles, type HostRunPlace } from './host-run-files.ts'
import {
  emptyNamespace,
  hasOnlyShell,
  openSandboxFolder,
  type SandboxFolder,
} from './sandbox-folder.ts'
import {
  findHomes,
  findWorkPlaces,
  hidePlaces,
  type PlacesOptions,
  type SandboxPlaces,
  type WorkPlaces,
} from './sandbox-places.ts'
import { isolation, probeSandbox, type SandboxProbe, withoutNetwork } from './sandbox-probe.ts'
import { isScarce } from '../start-failure.ts'

export interface SandboxOptions extends Omit<PlacesOptions, 'homes' | 'hostRun'> {
  /** `$HOME`; null if that is not set. */
  home: string | null
  /** `$XDG_CONFIG_HOME`. */
  configHome?: string | null
  /** nacre's own folder; no sandbox sees it. Null: nothing is kept. */
  stateDir: string | null
  /** The store of artifacts, of which an owner's runs see their own; null: none are kept. */
  artifactDir: string | null
  /** Asks the system what it can do. */
  probe?: () => Promise<SandboxProbe>
}

export interface SandboxDecision {
  use: SandboxUse
  /** For the reader. */
  notices: string[]
}

/** Confines what one executor runs. */
export interface Sandbox {
  /** What a request gets. Rejects with `StartError` (`sandbox_unavailable`). */
  decide(request: Request): Promise<SandboxDecision>
  /** A launch that does the same inside. The request's own if it asks for no sandbox. */
  confine(launch: Launch, request: Request, use?: ShellUse): Promise<Launch>
  /**
   * The folder with the artifacts of its owner that its runs see; null if nothing confines it and none of its owner.
   * Rejects as `decide` does.
   */
  viewOf(request: Request): Promise<string | null>
  /** Where a request may work, found once for each request. Throws `StartError`. */
  findPlaces(request: Request): WorkPlaces
  /** They are found anew, as something was gone before it could be mounted on. */
  forgetPlaces(request: Request): void
  /** The file in which bwrap writes how the run ended. */
  statusFile(runId: string): string
  close(): void
}

export function createSandbox(options: SandboxOptions): Sandbox {
  let probed: Promise<SandboxProbe> | null = null
  let opened: SandboxFolder | null = null
  let canRestore: boolean | null = null
  let inherited: GivenFile[] | null = null
  const homes = findHomes(options.home)
  const hostRuns = new Map<string, HostRunFiles>()
  const looked: PlacesOptions = { ...options, homes, hostRun }
  const worksOf = new WeakMap<Request, WorkPlaces>()
  const allOf = new WeakMap<Request, SandboxPlaces>()

  function hostRun(
    place: Pick<HostRunPlace, 'workspace' | 'gitStores' | 'declared'>,
  ): HostRunFiles {
    const [home = '/'] = homes
    const key = JSON.stringify(place)
    const configs = ['.gitconfig', '.config/git/config'].map((name) => join(home, name))
    if (options.configHome) configs.push(join(options.configHome, 'git/config'))
    const found = hostRuns.get(key) ?? findHostRunFiles({ ...place, gitConfigs: configs, home })
    hostRuns.set(key, found)
    return found
  }

  function openFolder(): SandboxFolder {
    // Whoever clears the state folder may have removed it.
    if (opened === null || !existsSync(opened.filter)) {
      // If there is none, the probe has said so.
      const filter = createSandboxFilter(process.arch) ?? new Uint8Array()
      opened = attempt(() => openSandboxFolder(options.stateDir, filter))
    }
    return opened
  }

  async function decide(request: Request): Promise<SandboxDecision> {
    if (probed === null) {
      probed = (options.probe ?? probeSandbox)().catch((error: unknown) => {
        probed = null
        throw error
      })
      // Meanwhile, since that waits for another process. What speaks against it, `confine` says.
      ifSeen(() => findAllPlaces(request))
    }
    const probe = await probed
    const { network } = request
    const problem = network === 'off' ? probe.networkProblem : probe.problem
    if (problem === null) {
      return { use: { mechanism: 'bubblewrap', network, degraded: false }, notices: [] }
    }
    if (!request.sandboxMayFallBack) throw new StartError('sandbox_unavailable', problem)
    const notice = `NOT SANDBOXED: this run could write and read everything that its user can, with network. ${problem}`
    return { use: { mechanism: 'none', network: 'on', degraded: true }, notices: [notice] }
  }

  async function viewOf(request: Request): Promise<string | null> {
    const { belongsTo, sandbox } = request
    if (sandbox === 'off' ? opened === null : (await decide(request)).use.degraded) return null
    return attempt(() => openFolder().artifactsOf(belongsTo))
  }

  function findPlaces(request: Request): WorkPlaces {
    const work = worksOf.get(request) ?? findWorkPlaces(request, looked)
    worksOf.set(request, work)
    return work
  }

  function findAllPlaces(request: Request): SandboxPlaces {
    const hidden = [...options.hidden, openFolder().path, options.stateDir ?? []].flat()
    const places = allOf.get(request) ?? hidePlaces(findPlaces(request), { ...looked, hidden })
    allOf.set(request, places)
    return places
  }

  async function confine(launch: Launch, request: Request, use?: ShellUse): Promise<Launch> {
    if (request.sandbox === 'off') return launch
    const { use: decided } = await decide(request)
    if (decided.degraded) return launch
    const bwrap = (await probed)?.path ?? ''
    const folder = openFolder()
    const places = findAllPlaces(request)
    const status = folder.statusFile(request.id)
    // That of a session outlives the run for which its shell is started.
    const life = use ? `shell of ${request.id}` : request.id
    places.hostRun.enter(life, () => use !== undefined && hasOnlyShell(status))
    const { outside, inside } = separateLoaderVariables(launch.env)
    const given = [...(inherited ??= coverInherited()), ...(launch.files ?? [])]
    const mounts = composeMounts({
      places,
      privateTmp: (inside) => attempt(() => folder.tmpOf(request.belongsTo, inside)),
      artifacts: findArtifacts(options, folder.artifactsOf(request.belongsTo)),
      share: use?.share ?? null,
      runFiles: findRunFiles(request),
      firstFd: Math.max(4, ...given.map(({ fd }) => fd)) + 1,
    })
    const loaded = Object.entries(inside).map((pair) => pair.join('='))
    const words = [
      ...isolation,
      // What the shell of a session leaves has nobody to name it to.
      ...(use ? ['--die-with-parent'] : []),
      ...(request.network === 'off' ? [withoutNetwork] : []),
      // A terminal run needs its terminal; the filter keeps it from typing there.
      ...(request.pty ? [] : ['--new-session']),
      ...mounts.words,
      ...['--chdir', use?.startsIn === 'share' ? sharedFolder : chooseDirectory(places)],
      ...['--seccomp', '3', '--json-status-fd', '4', '--'],
      ...(loaded.length === 0 ? [] : ['/usr/bin/env', ...loaded]),
    ]
    const command = [chooseFirstWord(launch), ...(use?.args(sharedFolder) ?? launch.args)]
    const confined: Launch = {
      ...launch,
      file: bwrap,
      argv0: 'bwrap',
      args: [...words, ...command],
      env: { ...outside, ...redirectFiles(request, outside, places) },
      files: [
        ...given,
        { fd: 3, from: folder.filter, access: 'read' },
        { fd: 4, from: status, access: 'write' },
        ...mounts.files,
      ],
      async settle() {
        const ended = await emptyNamespace(status)
        if (use) places.hostRun.leave(life)
        return ended
      },
      ...(use ? { shared: sharedFolder } : {}),
    }
    if (!request.pty) return confined
    canRestore ??= canRestoreSignals()
    return canRestore ? keepTypedSignals(confined, words, command) : confined
  }

  return {
    decide,
    confine,
    viewOf,
    findPlaces,
    forgetPlaces(request) {
      worksOf.delete(request)
      allOf.delete(request)
    },
    statusFile: (runId) => openFolder().statusFile(runId),
    close() {
      for (const files of hostRuns.values()) files.close()
      opened?.remove()
      opened = null
    },
  }
}

function attempt<Made>(make: () => Made): Made {
  try {
    return make()
  } catch (error) {
    // Such a start waits for its turn.
    if (isScarce(codeOf(error))) throw error
    const message = `The sandbox cannot make a folder for itself: ${messageOf(error)}`
    throw new StartError('sandbox_unavailable', message)
  }
}

/** The store may not be there yet. */
function findArtifacts({ artifactDir }: SandboxOptions, source: string) {
  const parent = artifactDir && ifThere(() => realpathSync(dirname(artifactDir)))
  return parent ? { path: join(parent, basename(artifactDir)), source } : null
}

/** `/run` is empty inside, since sockets lie there; this little is needed. */
function findRunFiles(request: Request): string[] {
  const found = ['/run/current-system'].filter((path) => existsSync(path))
  if (request.network === 'off' || !existsSync('/etc/resolv.conf')) return found
  const names = realpathSync('/etc/resolv.conf')
  return isWithin(names, '/run') ? [...found, names] : found
}
