import type { Decision, Verdict } from '../protocol/result/verdict.ts'

const meaning: Readonly<Record<Decision, string>> = {
  allow: 'The command may run.',
  ask: 'It runs only if somebody who can be asked says so.',
  redirect: 'It does not run; a tool of the caller does it better.',
  deny: 'It does not run.',
}

/** A verdict as people read it: what, why, and what it means. */
export function renderVerdict(verdict: Verdict): string {
  const { decision, rule, reason, matched, suggestedTool } = verdict
  const rows: [string, string | null][] = [
    [decision, meaning[decision]],
    ['rule', rule],
    ['matched', matched],
    // The rule has a row of its own.
    ['reason', reason?.replace(`${rule ?? ''}: `, '') ?? null],
    ['instead', suggestedTool === null ? null : `the tool \`${suggestedTool}\``],
  ]
  return rows
    .flatMap(([name, text]) =>
      text === null ? [] : [`${name.padEnd(9)}${text.replaceAll('\n', '\n         ')}\n`],
    )
    .join('')
}
