import { quoteWord } from '../../protocol/words.ts'
import type { PipeDialect } from './dialect.ts'

/*
 * The same protocol as in bash, in words of zsh. An error ends in `always`, so the loop needs no
 * second line. A stopped command takes its shell with it: zsh has no way out of a command that is
 * not the end of a shell without a terminal.
 */
const scriptName = 'zsh'

export const zshDialect: PipeDialect = {
  compose({ turnPath, cwd, oldCwd, setUp, login }) {
    const turn = [
      '__nacre_f=$- __nacre_o=0',
      // By their names: in `emulate sh` the letters are others.
      '\\builtin unsetopt allexport errexit verbose xtrace',
      // A shell that may open no more files would run no command.
      '{ { __nacre_o=1; } <&0 >/dev/null 2>/dev/null; } always { TRY_BLOCK_ERROR=0; }',
      '__nacre_x="$__nacre_q $__nacre_f 1 $__nacre_g ${__nacre_p-} $__nacre_o $__nacre_s"',
      '__nacre_g=0 __nacre_q=1',
      `\\builtin printf '\\0%s\\0%s\\0%s\\0%s\\0' "$__nacre_t" "$PWD" "$__nacre_x" "$__nacre_t"`,
      '\\builtin read -r -k 1 -u 0 __nacre_w || \\builtin exit',
      '__nacre_s= __nacre_p=',
      '__nacre_c=()',
      // With `ksharrays` too, where there is a number 0.
      `for __nacre_w in 1 2 3 4 5 6 7; do IFS= \\builtin read -r -d $'\\0' "__nacre_c[$__nacre_w]"; done <${quoteWord(turnPath)}`,
      '__nacre_t=${__nacre_c[6]}',
    ].join('; ')
    const run =
      '{ __nacre_g=1; \\builtin export NACRE_RUN="$__nacre_t"; ' +
      '{ \\__nacre_status "${__nacre_c[4]}" "${__nacre_c[5]}"; \\builtin eval "${__nacre_c[7]}"; ' +
      '__nacre_q=$?; } always { TRY_BLOCK_ERROR=0; }; ' +
      '} <"${__nacre_c[1]}" >|"${__nacre_c[2]}" 2>|"${__nacre_c[3]}"'
    const program = [
      // In the folder in which it starts. A word of the program itself could be too long (execve(2)).
      setUp === '' ? '' : `\\builtin . ./${scriptName} </dev/null >/dev/null; `,
      `\\builtin cd -- ${quoteWord(cwd)} || \\builtin exit 122; `,
      oldCwd === undefined ? '\\builtin unset OLDPWD; ' : `OLDPWD=${quoteWord(oldCwd)}; `,
      '__nacre_s= __nacre_t= __nacre_g=0 __nacre_q=0; ',
      '__nacre_status() { \\builtin return "$1"; }; ',
      '__nacre_end() { __nacre_s="${(j: :)@}"; }; ',
      `while :; do ${turn}; ${run}; done`,
    ].join('')
    return {
      args: [...(login ? ['-l'] : []), '-c', program, scriptName],
      // All of its loop is in the program.
      script: { text: setUp, lines: 2, line: () => '' },
    }
  },
  ask: '\\__nacre_end "$?" "${pipestatus[@]}" "/$_"',
  lastArgument: '"${__nacre_c[5]}"',
  survivesStop: false,
  lendVariable: (name, quotedValue) =>
    `__nacre_k_${name}="\${${name}+set}" __nacre_l_${name}="\${${name}-}" ` +
    `__nacre_m_${name}="\${(t)${name}-}"; \\builtin export ${name}=${quotedValue}`,
  restoreVariable(name) {
    const [isSet, value, type] = ['k', 'l', 'm'].map((letter) => `__nacre_${letter}_${name}`)
    return (
      `if [[ ! -v ${isSet} ]]; then \\builtin :; elif [[ -n $${isSet} ]]; ` +
      `then ${name}=$${value}; ` +
      `[[ $${type} = *export* ]] || \\builtin typeset +x ${name}; ` +
      `else \\builtin unset ${name}; fi; \\builtin unset ${isSet} ${value} ${type}`
    )
  },
}
