import type { ProcessSubstitutionPart, Redirection, Word } from 'unbash'
import type { Reader, Streams } from './reader.ts'
import type { Scope } from './scope.ts'
import { expandParts, expandText } from './word.ts'

export function readRedirects(
  redirects: readonly Redirection[],
  scope: Scope,
  stdin: string | null,
  reader: Reader,
): Streams {
  let input = stdin
  let stdoutGoesAway = false
  const writes: string[] = []
  const consumers: ProcessSubstitutionPart[] = []
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') {
      // bash warns, and reads on to the end of something else than the parser.
      if (!redirect.closing) reader.doubt('A here-document in it does not end.')
      input = redirect.body.parts
        ? expandParts(redirect.body.parts, scope, reader)
        : redirect.body.text
      continue
    }
    const { target } = redirect
    if (!target) continue
    if (redirect.type === 'HereString') {
      input = expandText(target, scope, reader).join('\n') + '\n'
      continue
    }
    const consumer = redirect.operator.includes('>') ? consumerOf(target) : null
    if (consumer) {
      consumers.push(consumer)
      continue
    }
    const targets = reader.expand(target, scope).map((fields) => fields.join(' '))
    if (redirect.operator.startsWith('<') && redirect.operator !== '<>') {
      if (redirect.operator === '<') input = reader.readFile(targets[0] ?? '', scope)
      continue
    }
    const isDuplicate = redirect.operator === '>&' && /^[\d-]+$/.test(targets[0] ?? '')
    if (!isDuplicate) writes.push(...targets)
    const { descriptor } = redirect
    const isStdout = descriptor?.type !== 'FileDescriptor' || descriptor.value === 1
    if (isStdout && redirect.operator !== '<>' && targets[0] !== '1') stdoutGoesAway = true
  }
  return {
    stdin: input,
    writes,
    redirected: redirects.length > 0 || stdin !== null,
    finish(output) {
      for (const { script } of consumers) {
        if (script) reader.runParsed(script, scope.clone(), output)
      }
      if (stdoutGoesAway) for (const path of writes) reader.write(path, output, scope)
      if (consumers.length > 0) return ''
      return stdoutGoesAway && !writes.includes('/dev/stdout') ? '' : output
    },
  }
}

function consumerOf(target: Word): ProcessSubstitutionPart | null {
  const part = target.parts?.[0]
  return part?.type === 'ProcessSubstitution' && part.operator === '>' ? part : null
}
