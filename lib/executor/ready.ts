import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Ready } from '../protocol/request.ts'
import type { LiveRun } from './run.ts'

const lookEveryMs = 50

/** Settles when the run is ready, or when `signal` says that nobody waits any more. */
export async function waitUntilReady(
  ready: Ready,
  run: LiveRun,
  signal: AbortSignal,
): Promise<void> {
  const isReady = createCheck(ready, run)
  while (!signal.aborted && !(await isReady())) {
    await delay(lookEveryMs, undefined, { signal }).catch(() => undefined)
  }
}

function createCheck(ready: Ready, run: LiveRun): () => boolean | Promise<boolean> {
  switch (ready.kind) {
    case 'port':
      return () => isListening(ready.port)
    case 'quiet':
      return () => run.quietMs() >= ready.quietMs
    case 'regex':
      return createLineCheck(new RegExp(ready.source), run)
  }
}

/** Looks at each line once; the last one, still unfinished, again. */
function createLineCheck(pattern: RegExp, run: LiveRun): () => boolean {
  let cursor = 0
  let unfinished = ''
  return () => {
    for (;;) {
      const read = run.read({ cursor })
      if (read.cursor === cursor) return false
      cursor = read.cursor
      const lines = (unfinished + read.text).split('\n')
      unfinished = lines.at(-1) ?? ''
      if (lines.some((line) => pattern.test(line))) return true
    }
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: 'localhost' })
    const answer = (listening: boolean) => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => answer(true))
    socket.once('error', () => answer(false))
  })
}
