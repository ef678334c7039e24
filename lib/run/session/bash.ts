import { quoteWord } from '../../protocol/words.ts'

/** Options of `set` that are off between the runs of a session. */
export const suspendedOptions = 'aekvx'

interface ProgramOptions {
  /** The file that holds the command of a turn. */
  turnPath: string
  cwd: string
  /** `OLDPWD` at the start, so that `cd -` is as it was. */
  oldCwd: string | undefined
  /** The user's own set-up, or nothing. */
  setUp: string
  login: boolean
}

/** What bash runs, and the script that it reads in its first directory; its name is the last of `args`. */
interface SessionProgram {
  args: string[]
  script: string
}

/*
 * The program of a session's bash.
 *
 * The shell reads it as a script, so its own descriptors 0 and 1 are free to carry the protocol: a
 * byte on 0 says "there is a command", on 1 comes one record a run. Each command runs in `eval` at
 * top level, with 0, 1 and 2 redirected for that command only, so that `exec >file` ends with its
 * run. Around it 0, 1 and 2 are closed: bash would keep what they are aside at 10 and above, where
 * the command's own numbers are. Our own are under high ones, close-on-exec, and the loop has them
 * as 0, 1 and 2 for its part of each turn.
 *
 * The loop is one line, so that `$LINENO` counts from 1 in every command. A stray `break` leaves the
 * loop; the shell then reads the next line, which is the same loop. Where nothing can be read any more
 * (`set -n`), bash meets the end of its script and exits. Likewise the shell exits with the status of the
 * command if that has taken away what the loop needs: the next run gets a fresh shell.
 *
 * Between runs `set -aekvx` and the traps on ERR and DEBUG are off and kept by us; they are set again
 * as the first part of the next command. Otherwise they would act on the loop: `set -e` with a last
 * status of 1, a DEBUG trap that prints.
 */

/**
 * How a stop takes the shell out of the rest of a command, which bash has no word for: with
 * `extdebug`, a DEBUG trap that fails makes bash skip the next command, and one that ends with 2 makes
 * it return from a function. `break 0` fails, and yet leaves every loop; where there is none, it
 * succeeds. The first command of our own loop ends all that. URG, since it does nothing where the trap is gone.
 */
const skipRest =
  '[[ ${__nacre_g-0} = 0 ]] || { \\builtin shopt -s extdebug; \\builtin trap ' +
  quoteWord(
    '{ if [[ $BASH_COMMAND = __nacre_x=* ]]; ' +
      'then \\builtin trap - DEBUG; \\builtin shopt -u extdebug; ' +
      'else \\builtin break 0 && \\__nacre_status 2; fi; } 2>/dev/null',
  ) +
  ' DEBUG; }'

/** The program with its first lines. */
export function composeProgram(options: ProgramOptions): SessionProgram {
  const { turnPath, cwd, oldCwd, setUp, login } = options
  const script = [
    // `\\builtin`, since an alias may be named like a builtin; functions of that name are passed by.
    'if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then \\builtin exit 121; fi; ',
    '{ \\builtin :; } 254</dev/null && __nacre_f0=252 __nacre_f1=253 __nacre_f2=254 || ' +
      '{ { \\builtin :; } 29</dev/null && __nacre_f0=27 __nacre_f1=28 __nacre_f2=29; } || ' +
      '\\builtin exit 120; ',
    ...[0, 1, 2].map(moveAside),
    `\\builtin cd -- ${quoteWord(cwd)} || \\builtin exit 122; `,
    oldCwd === undefined ? '\\builtin unset OLDPWD; ' : `OLDPWD=${quoteWord(oldCwd)}; `,
    '\\builtin shopt -s expand_aliases; ',
    setUp === '' ? '' : `\\builtin eval ${inOneLine(setUp)} </dev/null >/dev/null 2>/dev/null; `,
    // Set, since the user's set-up may have said `set -u`.
    '__nacre_s= __nacre_g=(0) __nacre_c=([6]=); ',
    `\\builtin trap ${quoteWord(skipRest)} URG; `,
    composeLoop(1, turnPath),
    composeLoop(2, turnPath),
  ].join('')
  return { args: login ? ['-l', 'bash'] : ['bash'], script }
}

/**
 * A last line that asks for `$_`, `$?` and every stage of the last pipeline. A DEBUG trap that the command has set
 * acts on this too: it is to say nothing.
 */
export const ask = '{ __nacre_s="$? ${PIPESTATUS[@]} /$_"; } >/dev/null 2>&1'

/** `$_` of the run before, as a word. */
export const lastArgument = '"${__nacre_c[4]}"'

/**
 * Sets and exports a variable for one command, and keeps what was there. (`NAME=value eval …` would be
 * the shell's own word for that, but bash 5.2 forgets it after the first command of the text.)
 */
export function lendVariable(name: string, quotedValue: string): string {
  return (
    `__nacre_k_${name}=("\${${name}+set}" "\${${name}-}" "\${${name}+\${${name}@a}}"); ` +
    `\\builtin export ${name}=${quotedValue}`
  )
}

/** Gives back what `lendVariable` kept, if it did. */
export function restoreVariable(name: string): string {
  const kept = `__nacre_k_${name}`
  return (
    `if [[ ! -v ${kept} ]]; then \\builtin :; elif [[ \${${kept}[0]} ]]; ` +
    `then ${name}=\${${kept}[1]}; ` +
    `[[ \${${kept}[2]} = *x* ]] || \\builtin export -n ${name}; ` +
    `else \\builtin unset -v ${name}; fi; \\builtin unset -v ${kept}`
  )
}

/**
 * What the loop lives on; a command can disable any of them. The last one becomes `$_`, and is the name of no
 * variable: as an integer `$_` would make an error of anything else.
 */
const needed = 'printf trap set read mapfile unset : export exit'

/** The loop as line `number` of the program. */
export function composeLoop(number: number, turnPath: string): string {
  const readTurn = `\\builtin mapfile -n 7 -d '' -t __nacre_c <${quoteWord(turnPath)}`
  // The last one ends a shell that has no builtin left.
  const giveUp =
    '{ __nacre_x=${__nacre_s:-$__nacre_x}; \\builtin exit "${__nacre_x%% *}"; ' +
    '\\exit "${__nacre_x%% *}"; : "${__nacre_none?}"; }'
  // Soon, since a DEBUG trap acts on every command here too.
  const suspend = `\\builtin trap -p ERR DEBUG; \\builtin trap - DEBUG ERR; \\builtin set +${suspendedOptions}`
  // An array of one: unlike a plain variable, `set -a` hands it to no program.
  const ended = `__nacre_x=("$? $- ${number} \${__nacre_g-} \${__nacre_p-}") __nacre_g=(0)`
  const turn = [
    suspend,
    // With the marks by which bash keeps quoting apart among the separators no record can be printed.
    `[[ \${IFS-} != *[$'\\1\\177']* ]] || IFS=$' \\t\\n'`,
    '__nacre_w= __nacre_o=',
    // Quoted: `set -k` would take a bare assignment away.
    `\\builtin eval '__nacre_w=1'`,
    // A function `builtin` may be in the way.
    `[[ $__nacre_w ]] && \\builtin enable ${needed} || ${giveUp}`,
    // As an integer, `$_` makes an error of every command whose last word is not a number.
    `[[ \${_@a} != *i* ]] || ${giveUp}`,
    // The command may have taken away what it was given.
    `[[ \${__nacre_c[6]+x} ]] || ${giveUp}`,
    '__nacre_t=${__nacre_c[5]-}',
    // A shell that is restricted, may open no more files or has lost its input would run no command. One
    // that could be asked after the last one has opened files for that.
    "if [[ ! ${__nacre_s-} ]]; then { \\builtin eval '__nacre_o=1'; } <&0 >/dev/null 2>/dev/null; " +
      'else __nacre_o=1; fi',
    '__nacre_x+=" $__nacre_o ${__nacre_s-}"',
    // Before the record, so that a shell in which they cannot be set is given up with this command.
    `\\builtin unset -v __nacre_c __nacre_s __nacre_p __nacre_w || ${giveUp}`,
    `\\builtin printf '\\0%s\\0%s\\0%s\\0%s\\0' "$__nacre_t" "$PWD" "$__nacre_x" "$__nacre_t" || ${giveUp}`,
    // -t: else TMOUT would end the wait.
    'until \\builtin read -r -N 1 -t 86400 __nacre_w; ' +
      'do [[ $? -gt 128 ]] || \\builtin exit; done',
    '__nacre_s=',
    `${readTurn} || \\builtin exit 124`,
  ].join('; ')
  // Anew for each command: one may have removed or replaced them.
  const functions = 'function __nacre_status { \\builtin return "$1"; }; '
  const run =
    `{ ${functions}__nacre_g=(1); \\builtin export NACRE_RUN="\${__nacre_c[5]}"; ` +
    '[[ ${__nacre_c[3]} = 0 ]] && \\builtin : "${__nacre_c[4]}" || ' +
    '\\__nacre_status "${__nacre_c[3]}" "${__nacre_c[4]}"; \\builtin eval "${__nacre_c[6]}"; ' +
    '} <"${__nacre_c[0]}" >"${__nacre_c[1]}" 2>"${__nacre_c[2]}"'
  // `until`, since nothing fails after `set -n`.
  return `until ! { ${ended}; { ${turn}; } ${ownDescriptors} || ${giveUp}; }; do ${run}; done\n`
}

const ownDescriptors = '<&"$__nacre_f0" >&"$__nacre_f1" 2>&"$__nacre_f2"'

/**
 * Moves one of our own descriptors to its high number. What bash itself keeps aside is close-on-exec, and
 * so is a duplicate of it; it stands under the lowest number from 10 on that is free. What `exec` closes is
 * kept there too, until it is closed by that number.
 */
function moveAside(fd: number): string {
  return (
    `\\exec {__nacre_w}<&${fd}; \\exec {__nacre_w}<&-; ` +
    `{ \\builtin eval "\\exec $__nacre_f${fd}<&$__nacre_w"; } ${fd}</dev/null; ` +
    `\\exec ${fd}<&-; \\exec {__nacre_w}<&-; `
  )
}

/** A quoted word without a newline, so that the lines after it keep their numbers. */
function inOneLine(text: string): string {
  return quoteWord(text).replaceAll('\n', () => `'$'\\n''`)
}
