import { quote, Text, unknown } from '../shell/text.ts'
import type { Call, Commands, Follow } from './call.ts'

/** The options by which an interpreter takes its program as an argument. */
const programOptions: Readonly<Record<string, RegExp>> = {
  python: /^-[a-zA-Z]*c$/,
  python2: /^-[a-zA-Z]*c$/,
  python3: /^-[a-zA-Z]*c$/,
  pypy3: /^-[a-zA-Z]*c$/,
  perl: /^-[a-zA-Z]*[eE]$/,
  ruby: /^-[a-zA-Z]*e$/,
  node: /^(?:-[a-z]*[ep]|--eval|--print)$/,
  nodejs: /^(?:-[a-z]*[ep]|--eval|--print)$/,
  bun: /^(?:-e|--eval|-p|--print)$/,
  deno: /^eval$/,
  php: /^(?:-r|--run)$/,
  lua: /^-e$/,
  osascript: /^-e$/,
}

const starts =
  /\b(?:system|exec\w*|p?open\w*|spawn\w*|call|run|check_\w+|getoutput|passthru|shell_exec|execute|sh|qx|\$)\b|`/
const removes =
  /\b(?:rmtree|remove_tree|rmSync|rmdirSync|removeSync|emptyDirSync|rm_rf|rm_r|remove_entry\w*|rimraf(?:Sync)?|rm|delTree)\b/g
const home =
  /^[^;\n]{0,40}?(?:\bhomedir\(\)|\bPath\.home\(\)|\bDir\.home\b|env(?:iron)?\W{1,3}HOME\b|\bENV\W{1,3}HOME\b)/i
const literal = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g
const forkLoop =
  /\bfork\s*(?:\(\s*\))?\s*while\s+\W*fork|\b(?:while|loop|for)\b[^;{]{0,20}(?:1|true|\{|;;)[^]{0,30}\bfork\b|\bfork\(\)\s+for\b/i

/**
 * A program in another language. Only what is plain in it is seen: texts that it hands to a shell,
 * and folders that it removes by name.
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
  const option = programOptions[name.replace(/^(python3|ruby|php|perl|lua)[\d.]+$/, '$1')]
  if (!option) return []
  const given = args.filter((_, index) => args[index - 1]?.test(option))
  if (given.length > 0) return given
  // `python3 - <<E`, or a file that the command itself wrote.
  const file = args.find((word) => !word.test(/^-./) && !word.is('run'))
  const isInput = file === undefined || file.test(/^(?:-|\/dev\/stdin|\/dev\/fd\/0)$/)
  const code = isInput ? stdin : shell.readFile(file, scope)
  return code ? [code] : []
}

function readCode(code: string, { scope, shell }: Call): void {
  if (starts.test(code)) {
    let list: Text[] = []
    let end = -1
    for (const match of code.matchAll(literal)) {
      const text = Text.parsed(unescape(match[1] ?? match[2] ?? match[3] ?? ''))
      const between = end < 0 ? '' : code.slice(end, match.index)
      if (end < 0 || !/^[\s,[\]]*$/.test(between)) {
        if (list.length > 1) shell.runWords(list, scope.clone(), null)
        list = []
      }
      list.push(text)
      shell.runScript(text, scope.clone(), null)
      end = match.index + match[0].length
    }
    if (list.length > 1) shell.runWords(list, scope.clone(), null)
  }
  for (const match of code.matchAll(literal)) {
    const device = deviceWritten(code, match)
    if (device !== null) shell.runScript(Text.join([': > ', quote(device)]), scope.clone(), null)
  }
  const remove = (path: Text): void => {
    shell.runScript(Text.join(['rm -rf ', path]), scope.clone(), null)
  }
  for (const { index, 0: name } of code.matchAll(removes)) {
    const rest = code.slice(index + name.length, index + name.length + 100)
    if (home.test(rest)) remove(new Text('~'))
    const [first] = rest.matchAll(literal)
    if (!first || !/^\W*(?:\w+[.(]+){0,3}$/.test(rest.slice(0, first.index))) continue
    const path = Text.parsed(unescape(first[1] ?? first[2] ?? first[3] ?? ''))
    remove(path.startsWith('~') ? path : quote(path))
  }
}

const writesBefore =
  /(?:\bwrite\w*|createWriteStream|file_put_contents|copyfile\w*|copyFile\w*|binwrite)\W{0,3}[^;\n]*$|['"]\+?>>?['"]\s*,\s*$|>\s*$/
const writesAfter =
  /^\s*,\s*(?:mode\s*=\s*|flags\s*:\s*)?(?:['"][^'"]{0,3}[wax+]|[^;\n]{0,20}O_(?:WRONLY|RDWR))|^\)\s*\.\s*(?:write|open\(\s*['"][wa])/

/** The device that a text names, where the program opens it for writing: `open('/dev/sda', 'wb')`. */
function deviceWritten(
  code: string,
  { 0: whole, index, 1: a, 2: b, 3: c }: RegExpExecArray,
): Text | null {
  const [, arrow, path] = /^(\+?>{0,2})\s*(\/dev\/.+)$/.exec(a ?? b ?? c ?? '') ?? []
  if (path === undefined) return null
  const before = code.slice(Math.max(0, index - 60), index)
  const after = code.slice(index + whole.length, index + whole.length + 60)
  const writes = arrow !== '' || writesBefore.test(before) || writesAfter.test(after)
  return writes ? Text.parsed(unescape(path)) : null
}

const unescape = (text: string): string => text.replace(/\\(["'`\\])/g, '$1')

export const inlineCodeCommands: Commands = new Map(
  [...Object.keys(programOptions), 'awk', 'gawk', 'mawk'].map((name) => [name, runInlineCode]),
)
