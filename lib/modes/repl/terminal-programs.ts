/** Programs that draw on a terminal or ask on it, whatever their arguments. */
const always = new Set([
  'vi',
  'vim',
  'nvim',
  'view',
  'vimdiff',
  'nano',
  'emacs',
  'micro',
  'helix',
  'hx',
  'joe',
  'mcedit',
  'less',
  'more',
  'most',
  'man',
  'info',
  'top',
  'htop',
  'btop',
  'atop',
  'iotop',
  'nmon',
  'ncdu',
  'watch',
  'ssh',
  'mosh',
  'telnet',
  'sftp',
  'ftp',
  'sudo',
  'su',
  'doas',
  'passwd',
  'login',
  'tmux',
  'screen',
  'zellij',
  'mc',
  'ranger',
  'nnn',
  'lf',
  'tig',
  'lazygit',
  'gitui',
  'fzf',
  'dialog',
  'whiptail',
  'visudo',
  'vipw',
  'lynx',
  'w3m',
  'mutt',
  'irssi',
  'weechat',
  'k9s',
  'gdb',
  'lldb',
])

/** Programs that talk on a terminal when they are given nothing to do. */
const withoutArguments = new Set([
  'python',
  'python3',
  'ipython',
  'node',
  'deno',
  'bun',
  'irb',
  'php',
  'lua',
  'ghci',
  'iex',
  'erl',
  'bash',
  'zsh',
  'fish',
  'sh',
  'dash',
  'psql',
  'mysql',
  'sqlite3',
  'redis-cli',
  'mongosh',
  'bc',
  'R',
])

/** Uses of programs that open an editor or ask. */
const uses: readonly RegExp[] = [
  /^git\s+commit\b(?!.*\s(?:-[a-zA-Z]*[mFC]|--message|--file|--no-edit|--reuse-message|--fixup|--dry-run))/,
  /^git\s+rebase\b.*\s(?:-i|--interactive)\b/,
  /^git\s+(?:add|checkout|restore|reset|stash)\b.*\s(?:-p|--patch|-i|--interactive)\b/,
  /^crontab\s+-e\b/,
  /^(?:docker|podman|kubectl)\s+(?:exec|run|attach)\b.*\s(?:-\w*i?t\w*|--tty|--interactive)\b/,
  /^systemctl\s+edit\b/,
]

/** Whether a command wants a terminal, as far as its words tell. */
export function wantsTerminal(command: string): boolean {
  return splitCommands(command).some(({ text, readsPipe }) => {
    const words = text.trim().split(/\s+/)
    while (/^\w+=/.test(words[0] ?? '')) words.shift()
    const [name = '', ...rest] = words
    const program = name.slice(name.lastIndexOf('/') + 1)
    if (always.has(program)) return !rest.some((word) => word === '--version' || word === '--help')
    if (withoutArguments.has(program)) return rest.length === 0 && !readsPipe
    return uses.some((use) => use.test(words.join(' ')))
  })
}

interface Part {
  text: string
  readsPipe: boolean
}

/** The parts of a list or pipeline; what stands in quotes does not part anything. */
function splitCommands(command: string): Part[] {
  const parts: Part[] = []
  let text = ''
  let readsPipe = false
  for (const [token] of command.matchAll(
    /'[^']*'|"(?:\\.|[^"\\])*"|\\.|\|\|?|&&?|[;\n]|[^'"\\|&;\n]+|./gs,
  )) {
    if (!/^(?:\|\|?|&&?|[;\n])$/.test(token)) {
      text += token
      continue
    }
    parts.push({ text, readsPipe })
    text = ''
    readsPipe = token === '|'
  }
  return [...parts, { text, readsPipe }]
}
