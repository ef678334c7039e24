import { createCommandTable } from './commands/commands.ts'
import { Interpreter } from './interpreter.ts'
import { type CompiledUserRule, compileUserRules } from './rules/user-rules.ts'
import { type Grammar, loadGrammar } from './shell/grammar.ts'

/**
 * Everything that is wrong with the rules of a configuration, a sentence each: their form, and the
 * examples that they carry. Loads the parser only where there are examples.
 */
export async function checkUserRules(input: unknown): Promise<string[]> {
  const { rules, problems } = compileUserRules(input)
  if (!rules.some(({ rule }) => rule.examples)) return problems
  const grammar = await loadGrammar()
  for (const compiled of rules) {
    const { match = [], notMatch = [] } = compiled.rule.examples ?? {}
    for (const command of match) {
      if (!catches(compiled, command, grammar)) {
        problems.push(`guard rule ${compiled.name}: it must match \`${command}\`, and does not.`)
      }
    }
    for (const command of notMatch) {
      if (catches(compiled, command, grammar)) {
        problems.push(`guard rule ${compiled.name}: it must not match \`${command}\`, and does.`)
      }
    }
  }
  return problems
}

function catches(rule: CompiledUserRule, command: string, grammar: Grammar): boolean {
  let caught = rule.matchesText(command)
  new Interpreter({
    grammar,
    table: createCommandTable(),
    home: '/home/user',
    directory: '/home/user/project',
    variables: {},
    saw: (seen) => {
      if (rule.matches(seen)) caught = true
    },
    doubted: () => {},
  }).inspect(command)
  return caught
}
