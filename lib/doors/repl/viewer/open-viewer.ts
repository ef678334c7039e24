import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../../../executor/executor.ts'
import { messageOf } from '../../../protocol/errors.ts'
import { quoteWord } from '../../../protocol/words.ts'
import type { Result } from '../../../protocol/result/result.ts'
import { outputLines } from '../screen/block.ts'
import type { SlashContext } from '../slash-command.ts'
import { openArtifact, openLines, openRun, type TextSource } from './text-source.ts'
import { createViewer } from './viewer.ts'

/** Shows all of a run's output, from its artifact where it has one. Settles when it is closed. */
export async function viewResult(result: Result, context: SlashContext): Promise<void> {
  if (result.artifact && context.executor.artifacts) {
    const source = await openArtifact(result.artifact.id, context.executor.artifacts)
    return viewSource(result.command, source, false, context)
  }
  const lines = outputLines(result)
  await viewSource(
    result.command,
    openLines(
      () => lines,
      () => false,
    ),
    false,
    context,
  )
}

/** Shows what a run that goes on has written so far; `follows`: and what comes. */
export function viewRun(run: Run, follows: boolean, context: SlashContext): Promise<void> {
  return viewSource(run.request.command, openRun(run), follows, context)
}

export async function viewArtifact(id: string, context: SlashContext): Promise<void> {
  const { artifacts } = context.executor
  if (!artifacts) return context.print(['No artifacts are kept.'])
  const info = await artifacts.find(id)
  await viewSource(info.command, await openArtifact(info.id, artifacts), info.isLive, context)
}

async function viewSource(
  title: string,
  source: TextSource,
  follows: boolean,
  context: SlashContext,
): Promise<void> {
  const { display, style } = context
  const then = await new Promise<'close' | 'pager' | 'save'>((resolve) => {
    const takeBack = display.lend(
      createViewer({
        title: title.replaceAll('\n', ' ⏎ '),
        source,
        style,
        follows,
        refresh: () => display.refresh(),
        copy: (text) => display.copy(text),
        onClose(then) {
          takeBack()
          resolve(then)
        },
      }),
    )
  })
  if (then === 'close') return
  try {
    const path = join(context.state.cwd, `nacre-output-${Date.now()}.txt`)
    if (source.path === null) await saveLines(source, path)
    else copyFileSync(source.path, path)
    if (then === 'save') return context.print([`Saved as ${path}`])
    await context.runLine(`\${PAGER:-less} ${quoteWord(path)}; rm -f ${quoteWord(path)}`, false)
  } catch (error) {
    context.print([style.red(`Cannot be saved: ${messageOf(error)}`)])
  }
}

async function saveLines(source: TextSource, path: string): Promise<void> {
  const search = { signal: new AbortController().signal, onProgress: () => undefined }
  const lines = await source.read(0, await source.countLines(search))
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''), { flag: 'wx' })
}
