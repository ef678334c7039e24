import { readdirSync, statSync } from 'node:fs'
import { lookAtLink, lookIntoFile } from './look.ts'

/** A socket that takes connections (proc_pid_net(5)). */
interface Listener {
  inode: string
  /** The user number of the process that opened it. */
  uid: number
}

/** Whether anybody listens on a TCP port in the network that this process is in. Linux only. */
export function isPortTaken(port: number): boolean {
  return listListeners('self', port).length > 0
}

/**
 * Whether one of these processes listens on a TCP port, each in the network that it is in: that of a
 * sandbox or a container is another one. Linux only. Where the descriptors of a process may not be read
 * (another user's), a listener of its user counts as its own.
 */
export function listensOn(pids: Iterable<number>, port: number): boolean {
  const listenersByNetwork = new Map<string, Listener[]>()
  for (const pid of pids) {
    const network = lookAtLink(`/proc/${pid}/ns/net`) ?? String(pid)
    let listeners = listenersByNetwork.get(network)
    if (!listeners) {
      listeners = listListeners(pid, port)
      listenersByNetwork.set(network, listeners)
    }
    if (listeners.length > 0 && holdsOne(pid, listeners)) return true
  }
  return false
}

function holdsOne(pid: number, listeners: readonly Listener[]): boolean {
  const folder = `/proc/${pid}/fd`
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch {
    const uid = ownerOf(pid)
    return listeners.some((listener) => listener.uid === uid)
  }
  const wanted = new Set(listeners.map(({ inode }) => `socket:[${inode}]`))
  return names.some((name) => wanted.has(lookAtLink(`${folder}/${name}`) ?? ''))
}

/** The state LISTEN in the kernel's tables. */
const listening = '0A'

function listListeners(pid: number | 'self', port: number): Listener[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  const found: Listener[] = []
  for (const table of ['tcp', 'tcp6']) {
    // The kernel may have no IPv6.
    const lines = lookIntoFile(`/proc/${pid}/net/${table}`, 'latin1')?.split('\n') ?? []
    for (const line of lines.slice(1)) {
      const [, local = '', , state, , , , uid, , inode] = line.trim().split(/\s+/)
      if (state === listening && inode !== undefined && local.endsWith(`:${wanted}`)) {
        found.push({ inode, uid: Number(uid) })
      }
    }
  }
  return found
}

function ownerOf(pid: number): number | null {
  try {
    return statSync(`/proc/${pid}`).uid
  } catch {
    // The process is gone.
    return null
  }
}
