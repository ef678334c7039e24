import { originPolicies } from '../protocol/origin.ts'
import { allowed, type Verdict } from '../protocol/rules.ts'
import { Findings } from './findings.ts'
import { Interpreter } from './interpreter/interpreter.ts'
import { builtInRules } from './rules/built-in.ts'
import type { GuardOptions, Question, Rule, SeenCommand } from './rules/rule.ts'
import { createSuggestTool } from './rules/suggest-tool.ts'
import {
  type CompiledUserRule,
  compileUserRules,
  invalidRules,
  partsOf,
  RuleBudget,
} from './rules/user-rules.ts'
import { absoluteNames, Text } from './shell/text.ts'
import { type Grammar, loadGrammar, plainGrammar } from './shell/grammar.ts'

/** How long the patterns of all rules may take together for one command. */
const patternsMs = 250

/**
 * Makes the guard. The parser is loaded with the first command that needs it; until then, and for
 * every plain command, the answer comes at once. It reads a command of any length that a request may
 * have.
 *
 * @throws MisuseError `invalid_guard_rule`, with a sentence for each rule that is wrong. Examples of
 * rules that only the parser can read are checked with the first question, which is then rejected.
 */
export function createGuard(
  options: GuardOptions,
): (question: Question) => Verdict | Promise<Verdict> {
  const { rules: userRules, problems } = compileUserRules(options.rules ?? [])
  const unread = checkExamples(userRules, plainGrammar, problems)
  if (problems.length > 0) throw invalidRules(problems)
  const { defaultDecision = 'allow', toolNames = [] } = options
  const readToolNames = typeof toolNames === 'function' ? toolNames : () => toolNames
  const isLax = defaultDecision === 'allow'
  let grammar: Grammar | null = null

  function judge(question: Question, using: Grammar): Verdict | null {
    const names = readToolNames()
    const suggestion = createSuggestTool(options.suggestTool, names)
    const rules = (suggestion ? [...builtInRules, suggestion] : builtInRules).filter(
      ({ holdsFor }) => question.guard && holds(holdsFor, question),
    )
    const budget = new RuleBudget(patternsMs)
    // A workspace that nobody trusted allows nothing, and a tool that is not there is no advice.
    const active = userRules.filter(
      ({ rule }) =>
        !(rule.untrusted && rule.decision === 'allow') &&
        !(rule.decision === 'redirect' && !hasTool(names, rule.suggestedTool)),
    )
    const isAllow = ({ rule }: CompiledUserRule): boolean => rule.decision === 'allow'
    /** The default is for what no rule speaks of; a workspace's rule is only there to tighten it. */
    const decides = ({ rule }: CompiledUserRule): boolean => rule.untrusted !== true

    const forText = active.filter((rule) => rule.matchesText(question.command, budget))
    const findings = new Findings(hasAllRules(question), forText.filter(isAllow))
    for (const rule of forText) {
      if (!isAllow(rule)) findings.addUserRule(rule, question.command)
    }
    findings.endCommand([], [])
    const isDecided = forText.some(decides)
    const interpreter = new Interpreter({
      grammar: using,
      home: options.home,
      directory: question.cwd,
      variables: question.env,
      saw(command, text, likelihood) {
        for (const rule of rules) {
          const caught = rule.check(command)
          if (!caught || (likelihood === 'defined' && !caught.certain)) continue
          const certain = caught.certain && likelihood !== 'supposed'
          findings.add(rule, { ...caught, certain }, text)
        }
        const stopping = active.filter((rule) => !isAllow(rule) && rule.matches(command, budget))
        for (const rule of stopping) findings.addUserRule(rule, text)
        const isListed = isLax || isDecided || likelihood === 'defined' || stopping.some(decides)
        const lifting: CompiledUserRule[] = []
        const open: SeenCommand[] = []
        for (const part of partsOf(command)) {
          const own = active.filter((rule) => isAllow(rule) && rule.matches(part, budget))
          lifting.push(...own)
          if (own.length > 0 || staysWithin(part, question.workspace ?? question.cwd)) continue
          open.push(part)
          if (!isListed) findings.addUnlisted(defaultDecision, text, part)
        }
        findings.endCommand(open.length === 0 ? lifting : [], open)
      },
      doubted(reason, text, kind) {
        if (kind === 'unknown' || !isLax || matters(question, active)) findings.doubt(reason, text)
      },
    })
    try {
      interpreter.inspect(question.command)
    } catch (error) {
      // The stack, used up by nesting: nothing was started, and nothing else throws one.
      if (!(error instanceof RangeError)) throw error
      findings.doubt('It is nested too deeply.', question.command)
    }
    for (const name of budget.slowRules) {
      findings.doubt(`The pattern of the rule "${name}" takes too long on it.`, question.command)
    }
    return interpreter.needsGrammar ? null : findings.verdict
  }

  async function judgeParsed(question: Question): Promise<Verdict> {
    grammar = await loadGrammar()
    const faults: string[] = []
    checkExamples(unread, grammar, faults)
    if (faults.length > 0) throw invalidRules(faults)
    unread.length = 0
    return judge(question, grammar) ?? allowed
  }

  return (question) => {
    if (!question.guard && userRules.length === 0 && isLax) return allowed
    const early = unread.length > 0 ? null : judge(question, grammar ?? plainGrammar)
    return early ?? judgeParsed(question)
  }
}

/**
 * Checks the examples of rules, adds what is wrong to the problems, and gives the rules with
 * examples that the grammar could not read.
 */
function checkExamples(
  rules: readonly CompiledUserRule[],
  grammar: Grammar,
  problems: string[],
): CompiledUserRule[] {
  return rules.filter((rule) => {
    let isUnread = false
    for (const { command, matches } of rule.examples) {
      const budget = new RuleBudget(patternsMs)
      let caught = rule.matchesText(command, budget)
      const interpreter = new Interpreter({
        grammar,
        home: '/home/user',
        directory: '/home/user/project',
        variables: {},
        saw: (seen) => {
          if (rule.matches(seen, budget)) caught = true
        },
        doubted: () => {},
      })
      interpreter.inspect(command)
      if (budget.slowRules.size > 0) {
        problems.push(`guard rule "${rule.name}": its pattern takes too long on \`${command}\`.`)
      } else if (interpreter.needsGrammar) isUnread = true
      else if (caught !== matches) {
        const [must, does] = matches ? ['must match', 'does not'] : ['must not match', 'does']
        problems.push(`guard rule "${rule.name}": it ${must} \`${command}\`, and ${does}.`)
      }
    }
    return isUnread
  })
}

/** A change of directory that stays below a folder. */
function staysWithin({ name, args, writes, places }: SeenCommand, folder: string): boolean {
  const [target, ...others] = args.filter((word) => !word.is('--'))
  if (!/^(?:cd|pushd)$/.test(name) || !target?.isKnown || others.length > 0 || writes.length > 0)
    return false
  const names = absoluteNames(new Text(folder), new Text('/'))
  return (
    !target.test(/^[-+]/) &&
    places.directories.every((directory) => {
      const reached = absoluteNames(target, directory)
      return names.every((part, at) => reached[at]?.equals(part))
    })
  )
}

const holds = (holdsFor: Rule['holdsFor'], question: Question): boolean =>
  holdsFor === 'everyone' ||
  (hasAllRules(question) && (holdsFor === 'agents' || question.isConfined !== true))

const hasAllRules = ({ origin }: Question): boolean => originPolicies[origin].guardRules === 'all'

const hasTool = (names: readonly string[], tool: string | undefined): boolean =>
  names.some((name) => name.toLowerCase() === tool?.toLowerCase())

/**
 * Words without which none of the rules that hold for everyone can apply, however the rest of the
 * text reads. A syntax error is for the shell to tell, unless the text may do harm: bash runs the lines
 * before the error, and the parser may refuse what bash reads.
 */
const dangerous =
  /(?<![\w.-])(?:rm|rmdir|unlink|find(?=[^]*\s-(?:delete|exec|ok))|shred|dd|mkfs[\w.]*|mke2fs|mkswap|wipefs|blkdiscard|sgdisk|sfdisk|fdisk|parted)(?![\w-])|\/dev\/(?!(?:null|zero|std\w+|tty|u?random)\b)|\|\s*[\w:]+\s*&/

/** The same for the rules that hold for models alone. */
const dangerousOfModel = /(?<![\w.-])git(?![\w-])[^]*(?<![\w.-])(?:push|add|stage)(?![\w-])/

/** The same for those whose run nothing confines. */
const dangerousUnconfined =
  /(?<![\w.-])(?:shutdown|reboot|halt|poweroff|kill|chown|chmod)(?![\w-])|\|\s{0,9}(?:sudo\s)?\w{0,4}sh\b|[\s>]\/(?:etc|usr|boot|lib|sys|proc)\//

/** Whether a text that no grammar reads is to be stopped. Quotes and backslashes hide nothing. */
function matters(question: Question, userRules: readonly CompiledUserRule[]): boolean {
  const { command } = question
  return [command, command.replaceAll(/["'\\]|\$\{?[@*]\}?/g, '')].some(
    (text) =>
      dangerous.test(text) ||
      (hasAllRules(question) &&
        (dangerousOfModel.test(text) ||
          (question.isConfined !== true && dangerousUnconfined.test(text)) ||
          userRules.some((rule) => rule.mayMatch(text)))),
  )
}
