import { spelled, unknown } from '../shell/marked-text.ts'
import type { Follow } from '../shell/interpreter.ts'

/** `at now <<< script`, `batch`: what they read runs later. */
const runsInput: Follow = ({ scope, stdin, interpreter }) => {
  if (stdin !== null) interpreter.runScript(spelled(stdin), scope.clone(), null)
  return unknown
}

/** `crontab <<< '* * * * * script'` */
const crontab: Follow = ({ scope, stdin, interpreter }) => {
  for (const line of stdin?.split('\n') ?? []) {
    const [, script] = /^\s*(?:@\w+|(?:\S+\s+){5})(.*)$/.exec(spelled(line)) ?? []
    if (script) interpreter.runScript(script, scope.clone(), null)
  }
  return unknown
}

/** Editors: `-c ':!script'`. */
const editor: Follow = ({ words, scope, interpreter }) => {
  for (const word of words) {
    const [, script] = /^(?:\+|:)*!(.*)$/s.exec(word) ?? []
    if (script) interpreter.runScript(spelled(script), scope.clone(), null)
  }
  return unknown
}

/** `tar --checkpoint-action=exec=script`, `--to-command=script`, `-I script`. */
const tar: Follow = ({ words, scope, interpreter }) => {
  for (const [index, word] of words.entries()) {
    const [, attached] =
      /^--(?:checkpoint-action=exec|to-command|use-compress-program)=(.*)$/s.exec(word) ?? []
    const script = attached ?? (words[index - 1] === '-I' ? word : '')
    if (script) interpreter.runScript(spelled(script), scope.clone(), null)
  }
  return unknown
}

export const scheduledCommands: Readonly<Record<string, Follow>> = {
  at: runsInput,
  batch: runsInput,
  crontab,
  vi: editor,
  vim: editor,
  nvim: editor,
  ex: editor,
  tar,
}
