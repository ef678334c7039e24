import type { Result } from '../../protocol/result.ts'
import { outputLines } from './block.ts'
import { pagesOf, pagesOfArtifact, type Pages } from './pages.ts'
import type { SlashContext } from './slash-command.ts'
import { createViewer } from './viewer.ts'

/** Shows all of a run's output, from its artifact where it has one. Settles when it is closed. */
export async function viewResult(result: Result, context: SlashContext): Promise<void> {
  const { artifact } = result
  const { artifacts } = context.executor
  await viewPages(
    result.command,
    artifact && artifacts ? pagesOfArtifact(artifact.id, artifacts) : pagesOf(outputLines(result)),
    context,
  )
}

export function viewPages(
  title: string,
  pages: Pages,
  { display, style }: Pick<SlashContext, 'display' | 'style'>,
): Promise<void> {
  return new Promise((resolve) => {
    const takeBack = display.lend(
      createViewer({
        title: title.replaceAll('\n', ' ⏎ '),
        pages,
        style,
        refresh: () => display.refresh(),
        onClose() {
          takeBack()
          resolve()
        },
      }),
    )
  })
}
