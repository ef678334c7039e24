import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Run } from '../../executor/executor.ts'
import { codeOf, messageOf } from '../../protocol/errors.ts'
import { quoteWord, splitLines } from '../../protocol/words.ts'
import type { ArtifactRef, Result } from '../../protocol/result/result.ts'
import { oneLine } from '../screen/columns.ts'
import type { SlashContext } from '../slash/slash-command.ts'
import { shortenHome } from '../status-bar.ts'
import {
  joinTexts,
  openArtifact,
  openLines,
  openRun,
  type Search,
  type TextSource,
} from './text-source.ts'
import { createViewer } from './viewer.ts'

/**
 * Shows all of a run's output, from its artifacts where it has some; what came on a stream of its own for
 * errors stands behind the rest. Settles when it is closed.
 */
export async function viewResult(result: Result, context: SlashContext): Promise<void> {
  const { artifacts } = context.executor
  const open = async (kept: ArtifactRef | null | undefined, text: string) => {
    if (kept && artifacts) return openArtifact(kept.id, artifacts)
    const lines = splitLines(text)
    return openLines(() => lines)
  }
  const { output, stdout, stderr } = result
  const text = await open(result.artifact, output ?? stdout ?? '')
  const source = stderr ? joinTexts(text, await open(result.stderrArtifact, stderr)) : text
  await viewSource(result.command, source, false, context)
}

/** Shows what a run that goes on has written so far; `follows`: and what comes. */
export function viewRun(run: Run, follows: boolean, context: SlashContext): Promise<void> {
  const source = openRun(run, context.executor.artifacts)
  return viewSource(run.request.command, source, follows, context)
}

export async function viewArtifact(id: string, context: SlashContext): Promise<void> {
  const { artifacts } = context.executor
  if (!artifacts) return context.print(['No artifacts are kept.'])
  const info = await artifacts.find(id)
  await viewSource(info.command, await openArtifact(info.id, artifacts), info.isLive, context)
}

interface Pipe {
  command: string
  /** Holds all of the text. */
  path: string
}

async function viewSource(
  title: string,
  source: TextSource,
  follows: boolean,
  context: SlashContext,
): Promise<void> {
  const { display, style, state, environment } = context
  const home = environment['HOME']
  let folder: string | null = null
  try {
    const pipe = await new Promise<Pipe | null>((settle) => {
      const takeBack = display.lend(
        createViewer({
          title: oneLine(title),
          source,
          style,
          follows,
          refresh: () => display.refresh(),
          onAhead: (data) => display.keepKey(data),
          copy: (text) => display.copy(text),
          async save(name, search) {
            const path = resolve(state.cwd, name.replace(/^~(?=\/)/, home ?? '~'))
            await save(source, path, search)
            return `saved as ${shortenHome(path, home)}`
          },
          async handOver(command, search) {
            folder ??= mkdtempSync(join(tmpdir(), 'nacre-view-'))
            const path = join(folder, 'output.txt')
            await save(source, path, search)
            takeBack()
            settle({ command, path })
          },
          onClose() {
            takeBack()
            settle(null)
          },
        }),
      )
      // What was typed ahead is for the viewer.
      display.replayKeys()
    })
    if (pipe !== null) await runPipe(pipe, context)
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true })
    await source.close()
  }
}

async function save(
  source: TextSource,
  path: string,
  { signal, onProgress }: Search,
): Promise<void> {
  let isOurs = false
  try {
    const file = createWriteStream(path, { flags: 'wx' }).once('open', () => (isOurs = true))
    await pipeline(source.readAll({ signal, onProgress }), file, { signal })
  } catch (error) {
    // A part of it would look like all of it, and its name would be taken.
    if (isOurs) rmSync(path, { force: true })
    const isThere = codeOf(error) === 'EEXIST'
    throw new Error(isThere ? `is there already: ${path}` : `not saved: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

/** A command of the person's own shell reads the text; without one it is the pager's. */
async function runPipe({ command, path }: Pipe, { runner }: SlashContext): Promise<void> {
  const reader = command === '' ? "sh -c 'exec ${PAGER:-less}'" : command
  await runner.run({
    command: `cat ${quoteWord(path)} | ${reader}`,
    injected: false,
    shownAs: `… | ${command === '' ? '$PAGER' : command}`,
  })
}
