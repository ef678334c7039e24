import type { Rule, SeenCommand, SuggestTool, ToolKind } from './rule.ts'

/** Names that agents give to such tools; the first that the caller has is suggested. */
const usualNames: Readonly<Record<ToolKind, readonly string[]>> = {
  read: ['read', 'read_file', 'view', 'view_file'],
  search: ['grep', 'search', 'search_files', 'ripgrep'],
  find: ['glob', 'find', 'find_files', 'list_files'],
  edit: ['edit', 'edit_file', 'str_replace', 'apply_patch'],
  write: ['write', 'write_file', 'create_file'],
}

const does: Readonly<Record<ToolKind, string>> = {
  read: 'only reads a file',
  search: 'only searches in files',
  find: 'only looks for files',
  edit: 'edits a file in place',
  write: 'only writes a text into a file',
}

/**
 * The rule that sends an agent from a command to a tool of its own; null where none of the tools is
 * among `toolNames`. `true` takes the usual names of such tools.
 */
export function createSuggestTool(
  config: SuggestTool | boolean | undefined,
  toolNames: readonly string[],
): Rule | null {
  if (config === undefined || config === false) return null
  const tools = new Map<ToolKind, string>()
  for (const kind of Object.keys(usualNames) as ToolKind[]) {
    const wanted = config === true ? usualNames[kind] : [config[kind] ?? []].flat()
    const tool = wanted
      .map((name) => toolNames.find((own) => own.toLowerCase() === name.toLowerCase()))
      .find((own) => own !== undefined)
    if (tool !== undefined) tools.set(kind, tool)
  }
  if (tools.size === 0) return null
  return {
    name: 'suggest-tool',
    decision: 'redirect',
    instead: 'Use the suggested tool.',
    holdsFor: 'agents',
    check(command) {
      const kind = kindOf(command)
      if (kind === null) return null
      const tool = tools.get(kind)
      if (tool === undefined) return null
      const instead = `Use the tool \`${tool}\` instead.`
      return { does: does[kind], instead, certain: true, suggestedTool: tool }
    },
  }
}

function kindOf({ name, args, writes, standsAlone, redirected }: SeenCommand): ToolKind | null {
  if (!standsAlone) return null
  const operands = args.filter((word) => !word.startsWith('-'))
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  const writesText = writes.some((path) => !path.startsWith('/dev/'))
  if (writesText && /^(?:echo|printf)$/.test(name)) return 'write'
  if (name === 'cat' && writesText && operands.length === 0) return 'write'
  if (/^(?:sed|perl|gawk|awk)$/.test(name)) {
    if (name === 'sed' && has(/^-[a-zA-Z]*i|^--in-place/)) return 'edit'
    if (name === 'perl' && has(/^-\w*i/) && has(/^-\w*[pn]/)) return 'edit'
    if (name.endsWith('awk') && args.some((word) => word.is('inplace'))) return 'edit'
    return name === 'sed' && !redirected && has(/^-n$/) && operands[0]?.test(/^[\d,$]+p$/)
      ? 'read'
      : null
  }
  if (redirected) return null
  if (/^(?:cat|head|tail|less|more|bat|nl|tac)$/.test(name) && operands.length > 0) {
    return has(/^-\w*[fF]$|^--follow/) ? null : 'read'
  }
  if (/^(?:grep|egrep|fgrep|rg|ag|ack)$/.test(name) && operands.length > 0) return 'search'
  if (/^(?:find|fd|fdfind)$/.test(name) && !has(/^-(?:exec|execdir|ok|okdir|delete|fprint|X|x)/))
    return 'find'
  return null
}
