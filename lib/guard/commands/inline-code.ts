import { quote, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

/** The options by which an interpreter takes its program as an argument. */
const programOptions: Readonly<Record<string, RegExp>> = {
  python: /^-[a-zA-Z]*c$/,
  python3: /^-[a-zA-Z]*c$/,
  perl: /^-[a-zA-Z]*[eE]$/,
  ruby: /^-[a-zA-Z]*e$/,
  node: /^(?:-[a-z]*[ep]|--eval|--print)$/,
  php: /^(?:-r|--run)$/,
}

const starts = /\b(?:system|exec\w*|p?open|spawn\w*|call|run|check_\w+|shell_exec)\b|`/
const removes = /\b(?:rmtree|remove_tree|rmSync|rmdirSync|rm_rf|rm_r)\b[\s(.\w]*$/
const writes = /writ|put_contents|WRONLY|>|['"][wax]|r\+/i
const forkLoop = /\bfork\b[\s()]*while\b|\b(?:while|loop|for)\b[^]{0,40}\bfork\b|\bfork\(\) for\b/
const literal = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g

/**
 * A program in another language. Only texts in it are looked at: what may be handed to a shell, a
 * folder that is removed by name, a device in a program that writes. What is not certain is dropped.
 */
const runInlineCode: Follow = (call) => {
  for (const code of programs(call)) {
    if (code.test(forkLoop)) call.shell.sawForkBomb()
    call.shell.onlyWhatIsCertain(() => readCode(code.source, call))
  }
  return unknown
}

function programs({ name, args, stdin, scope, shell }: Call): readonly Text[] {
  if (name.endsWith('awk')) return args.filter((word) => word.test(/[{(]/))
  const option = programOptions[name]
  const given = args.filter((_, index) => option && args[index - 1]?.test(option))
  if (given.length > 0) return given
  // `python3 - <<E`, or a file that the command itself wrote.
  const file = args.find((word) => !word.startsWith('-'))
  const code = file === undefined ? stdin : shell.readFile(file, scope)
  return code ? [code] : []
}

function readCode(code: string, { scope, shell }: Call): void {
  const run = (...parts: (Text | string)[]): void => {
    shell.runScript(Text.join(parts), scope.clone(), null)
  }
  const literals = [...code.matchAll(literal)].map((match) => ({
    text: new Text((match[1] ?? match[2] ?? match[3] ?? '').replace(/\\(["'`\\])/g, '$1')),
    before: code.slice(Math.max(0, match.index - 60), match.index),
  }))
  if (starts.test(code)) {
    for (const { text } of literals) run(text)
    // `["rm", "-rf", "/"]`
    shell.runWords(
      literals.map(({ text }) => text),
      scope.clone(),
      null,
    )
  }
  for (const { text, before } of literals) {
    if (removes.test(before)) run('rm -rf ', text.is('~') ? text : quote(text))
    if (text.test(/^>?\/dev\//) && writes.test(code))
      run(': > ', quote(text.replace(/^>/g, () => '')))
  }
}

export const inlineCodeCommands: Commands = new Map(
  [...Object.keys(programOptions), 'awk', 'gawk'].map((name) => [name, runInlineCode]),
)
