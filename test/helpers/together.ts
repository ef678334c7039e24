import { test } from 'uvu'

/**
 * Tests that wait for most of their time and do not meet: all begin when the first does, and each is told
 * by its own name.
 */
export function testTogether(tests: Readonly<Record<string, () => Promise<void>>>): void {
  let begun: Map<string, Promise<PromiseSettledResult<void>>> | null = null
  for (const name of Object.keys(tests)) {
    test(name, async () => {
      begun ??= new Map(Object.entries(tests).map(([each, run]) => [each, settle(run())]))
      const ended = await begun.get(name)
      if (ended?.status === 'rejected') throw ended.reason
    })
  }
}

async function settle(run: Promise<void>): Promise<PromiseSettledResult<void>> {
  const [ended] = await Promise.allSettled([run])
  return ended
}
