import { createWriteStream, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Run } from '../../executor/executor.ts'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { quoteWord, splitLines } from '../../protocol/words.ts'
import type { ArtifactRef, Result } from '../../protocol/result/result.ts'
import { makeTemporaryFolder, removeTemporaryFolder } from '../../system/temporary-folder.ts'
import { countOf, oneLine, shortenHome } from '../screen/text.ts'
import type { LineContext } from '../context.ts'
import { openArtifact, openLines, openRun, type TextSource } from './text-source.ts'
import { createViewer } from './viewer.ts'

/** So many of the last lines are shown on a terminal that only prints. */
const plainLines = 1000

/** Shows all of a run's output, then what came on a stream of its own for errors. Settles when it is closed. */
export async function viewResult(result: Result, context: LineContext): Promise<void> {
  const { command, output, stdout, stderr } = result
  await viewKept(command, result.artifact, output ?? stdout ?? '', context)
  if (stderr) await viewKept(`errors of ${command}`, result.stderrArtifact, stderr, context)
}

async function viewKept(
  title: string,
  kept: ArtifactRef | null | undefined,
  text: string,
  context: LineContext,
): Promise<void> {
  const { artifacts } = context.executor
  const lines = splitLines(text)
  const source = kept && artifacts ? await openArtifact(kept.id, artifacts) : openLines(() => lines)
  await viewText(title, source, false, context)
}

/** Shows what a run that goes on has written so far; `follows`: and what comes. */
export async function viewRun(run: Run, follows: boolean, context: LineContext): Promise<void> {
  const source = await openRun(run, context.executor.artifacts)
  return viewText(run.request.command, source, follows, context)
}

export async function viewArtifact(id: string, context: LineContext): Promise<void> {
  const { artifacts } = context.executor
  if (!artifacts) return context.print(['No artifacts are kept.'])
  const info = await artifacts.find(id)
  await viewText(info.command, await openArtifact(info.id, artifacts), info.isLive, context)
}

async function viewText(
  title: string,
  source: TextSource,
  follows: boolean,
  { display, style, state, environment, runner }: LineContext,
): Promise<void> {
  const home = environment['HOME']
  if (display.isPlain) {
    const total = await source.countLines(new AbortController().signal)
    const from = Math.max(0, total - plainLines)
    if (from > 0) display.print([`… ${countOf(from, 'earlier line')}`])
    display.printWhole(await source.read(from, total - from))
    return source.close()
  }
  let folder: string | null = null
  let close = () => {}
  try {
    const pipe = await new Promise<{ command: string; path: string } | null>((settle) => {
      const viewer = createViewer({
        title: oneLine(title),
        source,
        style,
        follows,
        refresh: () => display.refresh(),
        copy: (text) => display.copy(text),
        async save(name, signal) {
          const path = resolve(state.cwd, name.replace(/^~(?=\/)/, home ?? '~'))
          await save(source, path, signal)
          return `saved as ${shortenHome(path, home)}`
        },
        async handOver(command, signal) {
          folder ??= makeTemporaryFolder('view')
          const path = join(folder, 'output.txt')
          await save(source, path, signal)
          close()
          settle({ command, path })
        },
        onClose() {
          close()
          settle(null)
        },
      })
      close = display.open(viewer)
      // What was typed ahead is for the viewer.
      display.replayKeys()
    })
    if (pipe === null) return
    // A command of the person's own shell reads the text; without one it is the pager's.
    const reader = pipe.command === '' ? "sh -c 'exec ${PAGER:-less}'" : pipe.command
    await runner.run({
      command: `cat ${quoteWord(pipe.path)} | ${reader}`,
      injected: false,
      shownAs: `… | ${pipe.command === '' ? '$PAGER' : pipe.command}`,
    })
  } finally {
    if (folder !== null) removeTemporaryFolder(folder)
    await source.close()
  }
}

async function save(source: TextSource, path: string, signal: AbortSignal): Promise<void> {
  let isOurs = false
  try {
    const file = createWriteStream(path, { flags: 'wx' }).once('open', () => (isOurs = true))
    await pipeline(source.readAll(signal), file, { signal })
  } catch (error) {
    // A part of it would look like all of it, and its name would be taken.
    if (isOurs) rmSync(path, { force: true })
    const isThere = codeOf(error) === 'EEXIST'
    throw new Error(isThere ? `is there already: ${path}` : `not saved: ${messageOf(error)}`, {
      cause: error,
    })
  }
}
