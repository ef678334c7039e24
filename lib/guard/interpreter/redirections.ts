import type { ProcessSubstitutionPart, Redirection, Word } from 'unbash'
import type { Scope } from '../shell/scope.ts'
import { empty, Text } from '../shell/text.ts'
import { expandParts, expandText, expandWord } from '../shell/word.ts'
import type { Channels, Reader } from './context.ts'

/** What the redirections of a command come to. */
export interface Streams extends Channels {
  /** Hands what the command prints to where it goes; gives what is left for the next one. */
  finish(output: Text): Text
}

/** Opens what the redirections name. `stdin` is what the command would read without them. */
export function redirect(
  redirects: readonly Redirection[],
  scope: Scope,
  stdin: Text | null,
  reader: Reader,
): Streams {
  if (redirects.length === 0) {
    return { stdin, writes: [], redirected: stdin !== null, finish: (output) => output }
  }
  let input = stdin
  let stdoutGoesAway = false
  const writes: Text[] = []
  const consumers: ProcessSubstitutionPart[] = []
  for (const redirect of redirects) {
    if (redirect.type === 'HereDoc') {
      // bash warns, and reads on to the end of something else than the parser.
      if (!redirect.closing) reader.doubt('A here-document in it does not end.')
      const { parts, text } = redirect.body
      input = parts ? expandParts(parts, scope, reader) : Text.parsed(text)
      continue
    }
    const { target } = redirect
    if (!target) continue
    if (redirect.type === 'HereString') {
      input = Text.join([Text.join(expandText(target, scope, reader), '\n'), '\n'])
      continue
    }
    const consumer = redirect.operator.includes('>') ? consumerOf(target) : null
    if (consumer) {
      consumers.push(consumer)
      continue
    }
    const targets = expandWord(target, scope, reader).map((fields) => Text.join(fields, ' '))
    const [first = empty] = targets
    if (redirect.operator.startsWith('<') && redirect.operator !== '<>') {
      if (redirect.operator === '<') input = reader.readFile(first, scope)
      continue
    }
    const isDuplicate = redirect.operator === '>&' && first.test(/^[\d-]+$/)
    if (!isDuplicate) writes.push(...targets)
    const { descriptor } = redirect
    const isStdout = descriptor?.type !== 'FileDescriptor' || descriptor.value === 1
    if (isStdout && redirect.operator !== '<>' && !first.is('1')) stdoutGoesAway = true
  }
  return {
    stdin: input,
    writes,
    redirected: true,
    finish: (output) => {
      for (const { script } of consumers) {
        if (script) reader.runParsed(script, scope.clone(), output)
      }
      if (stdoutGoesAway) for (const path of writes) reader.write(path, output, scope)
      const isPassedOn = !stdoutGoesAway || writes.some((path) => path.is('/dev/stdout'))
      return consumers.length === 0 && isPassedOn ? output : empty
    },
  }
}

function consumerOf(target: Word): ProcessSubstitutionPart | null {
  const part = target.parts?.[0]
  return part?.type === 'ProcessSubstitution' && part.operator === '>' ? part : null
}
