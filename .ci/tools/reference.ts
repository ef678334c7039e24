/**
 * Writes lib/config/CONFIGURATION.md, the reference of the configuration, from the tables that nacre itself
 * reads: `npm run reference`. A test fails where the file is not what this gives.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { argv } from 'node:process'
import { otherVariables } from '../../lib/config/configuration.ts'
import { reportKeys } from '../../lib/config/keys.ts'
import { wantedOf } from '../../lib/protocol/shape/check.ts'
import type { ObjectShape } from '../../lib/protocol/shape/shape.ts'
import { askPrograms, hardening, plainTerminal } from '../../lib/run/environment.ts'
import { userRuleShape } from '../../lib/protocol/rules.ts'
import { toSnakeCase } from '../../lib/protocol/wire.ts'

const file = join(import.meta.dirname, '../../lib/config/CONFIGURATION.md')

const rights = {
  tighten: 'may tighten it',
  nothing: 'may not',
}

/** The file with its tables as they are now; the text around them stays. */
export function updateReference(text = readFileSync(file, 'utf8')): string {
  const tables: Record<string, string> = {
    keys: writeTable(
      ['key', 'what it is', 'what it may be', 'variable', 'a workspace'],
      reportKeys([], {}).map(({ key, description, wanted, variable, workspace }) => [
        `\`${key}\``,
        description,
        wanted,
        variable === null ? '' : `\`${variable}\``,
        rights[workspace],
      ]),
    ),
    variables: writeTable(
      ['variable', 'what it is'],
      Object.entries(otherVariables).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
    hardening: writeTable(['value', 'variables'], describeHardening()),
    rules: writeTable(['field', 'what it is', 'what it may be'], describeFields(userRuleShape)),
  }
  return text.replaceAll(
    /(<!-- table: (\w+) -->\n).*?(<!-- end -->)/gs,
    (_whole, before: string, name: string, after: string) => {
      const table = tables[name]
      if (table === undefined)
        throw new Error(`lib/config/CONFIGURATION.md: there is no table ${name}`)
      return `${before}\n${table}\n${after}`
    },
  )
}

/** By value, so that the table stays short. */
function describeHardening(): string[][] {
  const names = new Map<string, string[]>()
  const add = (name: string, value: string) => {
    names.set(value, [...(names.get(value) ?? []), `\`${name}\``])
  }
  for (const [name, value] of Object.entries(hardening)) add(name, value === '' ? 'empty' : value)
  for (const name of askPrograms) add(name, 'the path of `false`')
  for (const [name, value] of Object.entries(plainTerminal)) {
    add(name, `\`${value}\`, without a terminal of its own`)
  }
  const isPlain = (value: string) => /^[\w-]+$/.test(value) && value !== 'empty'
  return [...names].map(([value, list]) => [
    isPlain(value) ? `\`${value}\`` : value,
    list.join(' '),
  ])
}

function describeFields({ properties, required }: ObjectShape): string[][] {
  return Object.entries(properties).map(([name, shape]) => [
    `\`${toSnakeCase(name)}\`${required.includes(name) ? ', always' : ''}`,
    shape.description ?? '',
    wantedOf(shape),
  ])
}

/** Markdown as the formatter of the project writes it. */
function writeTable(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const line = (row: string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`
  const rule = line(widths.map((width) => '-'.repeat(width)))
  return line(cells[0] ?? []) + rule + cells.slice(1).map(line).join('')
}

if (argv[1] === import.meta.filename) writeFileSync(file, updateReference())
