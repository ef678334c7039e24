import { readOptions } from '../shell/options.ts'
import { empty, Text, unknown } from '../shell/text.ts'
import type { Follow } from './call.ts'

const style = {
  shortValues: 'CfIjloWE',
  longValues: `directory file makefile include-dir jobs load-average old-file assume-old what-if
    new-file assume-new eval`,
}

const usualFiles = ['GNUmakefile', 'makefile', 'Makefile'].map((name) => new Text(name))

/** `make -f - <<E`, and files that the command itself wrote: their recipes are scripts. */
export const make: Follow = ({ args, scope: outer, stdin, shell }) => {
  const options = readOptions(args, style)
  const scope = outer.clone()
  for (const folder of options.valuesOf('C', 'directory')) scope.enter([folder])
  const named = options.valuesOf('f', 'file', 'makefile')
  const files = named.length > 0 ? named : usualFiles
  const texts = [
    ...options.valuesOf('E', 'eval'),
    ...files.flatMap((file) => (file.is('-') ? stdin : shell.readFile(file, scope)) ?? []),
  ]
  for (const word of [...texts.flatMap((text) => text.split('\n')), ...options.operands]) {
    const [start = '', name] = /^([A-Za-z_]\w*)\s*[:?+!]*=\s*/.exec(word.chars) ?? []
    if (name !== undefined) scope.assign(name, [word.slice(start.length)])
  }
  for (const text of texts) {
    for (const line of text.replace(/\\\n/g, () => ' ').split('\n')) {
      const [start] = /^(?:\t\s*|[^\t#=]*:[^=;]*;\s*)[-@+\s]*/.exec(line.chars) ?? []
      if (start !== undefined)
        shell.runScript(recipe(line.slice(start.length)), scope.clone(), null)
      for (const [, script = ''] of line.chars.matchAll(/\$\(shell\s([^)]*)\)/g)) {
        shell.runScript(new Text(script), scope.clone(), null)
      }
    }
  }
  return texts.length > 0 ? empty : unknown
}

/** As the shell gets it: make's own variables are those that were assigned above. */
const recipe = (line: Text): Text =>
  line.replace(/\$\$|\$\((\w+)\)/g, ([own, name]) => (own === '$$' ? '$' : `\${${name}}`))
