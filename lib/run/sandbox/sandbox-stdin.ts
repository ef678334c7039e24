import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { StartError } from '../../protocol/ports.ts'
import type { Stdin } from '../../protocol/request/request.ts'
import { isNullDevice, isTerminal, isUnnamedPipe } from '../../system/descriptors.ts'
import type { FifoPool } from '../pipe/fifo.ts'
import { findProgram, isAccessible, systemPath } from '../../system/look.ts'

/** A standard input through which nothing but its bytes can be reached. */
export interface SealedStdin {
  readonly stdin: Stdin
  /** Frees what was opened; it has to be called after the run. From its end on nothing is read any more. */
  release(): unknown
}

/**
 * `/proc/self/fd/0` opens anew what a descriptor leads to (proc(5)), with every right that its user
 * has: a file for writing, a folder and what lies above it, a disk. So a sandboxed run reads files,
 * devices and sockets through a pipe. A terminal and an unnamed pipe lead to nothing else and are
 * handed on as they are. Throws `StartError` for a folder.
 */
export async function sealStdin(stdin: Stdin, pipes: FifoPool): Promise<SealedStdin> {
  const asItIs = { stdin, release: () => undefined }
  if (stdin.kind !== 'descriptor') return asItIs
  const { fd } = stdin
  const stat = fstatSync(fd)
  if (stat.isDirectory()) {
    const message =
      'The standard input is a folder, through which a run could leave the sandbox; give it a file or nothing (</dev/null)'
    throw new StartError('stdin_is_folder', message)
  }
  if (isNullDevice(stat) || isTerminal(fd) || isUnnamedPipe(fd)) return asItIs
  const relay = await relayStream(fd, stat.isFile(), pipes)
  return { stdin: { kind: 'descriptor', fd: relay.readFd }, release: () => relay.release() }
}

/**
 * A program reads on until the run has ended. It opens a file anew, so that the descriptor, which the caller may
 * share with others (`while read … done < list`), stays where it is; if its user may not open it, it reads the
 * descriptor itself.
 */
async function relayStream(fd: number, isFile: boolean, pipes: FifoPool) {
  const fifo = pipes.open()
  const opened: number[] = []
  const open = (path: string): number => {
    const added = openSync(path, 'r')
    opened.push(added)
    return added
  }
  try {
    const readFd = open(fifo.path)
    // Another user may have opened it: sudo(8), su(1).
    const anew = isFile && isAccessible(pathOf(fd), constants.R_OK)
    const [name = '', ...args] = anew ? ['tail', '-c', `+${readPosition(fd) + 1}`] : ['cat']
    const source = anew ? open(pathOf(fd)) : fd
    const relay = spawn(findProgram(name, systemPath) ?? name, args, {
      env: {},
      stdio: [source, fifo.writeFd, 'ignore'],
    })
    const ended = new Promise<void>((resolve) => void relay.once('exit', () => resolve()))
    await once(relay, 'spawn')
    opened.splice(opened.indexOf(readFd), 1)
    return {
      readFd,
      release() {
        closeSync(readFd)
        // Until it has ended it may take what comes next, which is not for this run.
        relay.kill('SIGKILL')
        return ended
      },
    }
  } finally {
    fifo.release(false)
    for (const each of [fifo.readFd, ...opened]) closeSync(each)
  }
}

const pathOf = (fd: number) => `/proc/self/fd/${fd}`

function readPosition(fd: number): number {
  const told = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')
  return Number(/^pos:\s*(\d+)$/m.exec(told)?.[1] ?? 0)
}
