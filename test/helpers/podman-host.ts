import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

/** A container with nothing but busybox, and a folder with a `podman` that knows it as `box`. */
export interface Container {
  folder: string
  remove(): void
}

function find(program: string): string | null {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' })
  return stdout.trim() || null
}

/** Why no container can be started here, or null. */
export function findPodmanObstacle(): string | null {
  if (process.getuid?.() !== 0) return 'only root starts containers here'
  const missing = ['podman', 'runc', 'busybox'].filter((program) => find(program) === null)
  return missing.length === 0 ? null : `missing: ${missing.join(', ')}`
}

/** Returns when no process names the folder any more; throws where that takes half a minute. */
function waitForWatcher(folder: string): void {
  const line = 'while pgrep -f -- "$1" >/dev/null; do sleep 0.1; done'
  const { status } = spawnSync('timeout', ['30', 'sh', '-c', line, '_', `${folder}[/]`])
  if (status !== 0) throw new Error(`podman still cleans up in ${folder} after half a minute`)
}

/** Its storage is its own, so that nothing of it is left. Throws where the system lets none start. */
export function startContainer(): Container {
  // podman wants a short path (at most 50 characters to `run`).
  const folder = mkdtempSync('/tmp/nacre-p-')
  const at = (...names: string[]) => join(folder, ...names)
  for (const name of ['bin', 'tmp', 'proc', 'dev', 'etc', 'root']) {
    mkdirSync(at('system', name), { recursive: true })
  }
  writeFileSync(at('system/etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  const busybox = find('busybox') ?? 'busybox'
  copyFileSync(busybox, at('system/bin/busybox'))
  const applets = execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n')
  for (const name of applets) if (name !== 'busybox') symlinkSync('busybox', at('system/bin', name))
  const words = [
    find('podman') ?? 'podman',
    ...['--root', at('storage'), '--runroot', at('run'), '--tmpdir', at('libpod')],
    // The default would lay a mount over its own storage.
    ...['--storage-driver', 'vfs'],
    ...['--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none'],
  ]
  writeFileSync(at('podman'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
  chmodSync(at('podman'), 0o755)
  const remove = () => {
    spawnSync(at('podman'), ['rm', '--force', '--time', '0', 'box'])
    // What watches the container cleans up after it for a moment, and writes and mounts there for that.
    waitForWatcher(folder)
    spawnSync('umount', ['--recursive', at('storage/overlay')])
    rmSync(folder, { recursive: true, force: true })
  }
  const started = spawnSync(
    at('podman'),
    [
      ...['run', '--detach', '--name', 'box', '--network', 'host', '--workdir', '/root'],
      ...['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1000:1000'],
      ...['--rootfs', at('system'), '/bin/sleep', '600'],
    ],
    { encoding: 'utf8' },
  )
  if (started.status !== 0) {
    remove()
    throw new Error(`podman starts no container: ${started.stderr.trim()}`)
  }
  return { folder, remove }
}
