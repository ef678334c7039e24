import { wrongUsage } from '../protocol/errors.ts'
import { type Result, type ToldResult, toldShape } from '../protocol/result/result.ts'
import { pick } from '../protocol/shape/shape.ts'
import { toWire } from '../protocol/wire.ts'
import type { Command } from '../doors/command.ts'

/**
 * What a nacre on another machine is to the one that has sent a command there: it takes the command through
 * an executor like any front door, with its own streams for the command, and tells the result behind what
 * came on standard error.
 */
export const command: Command = {
  name: 'carry',
  usage: 'nacre carry <head of the result> <command>',
  description: 'Run a command for a nacre on another machine (that one starts this by itself)',
  flags: [],
  examples: ["nacre --host build -c 'make'"],
  hidden: true,
  takesRunOptions: true,
  run({ positionals: [head, words], useExecutor, exitStatusOf, streams }) {
    if (head === undefined || words === undefined) {
      throw wrongUsage('Give the head of the result, and the command')
    }
    return useExecutor(async (executor, signal) => {
      const result = await executor.run(
        {
          command: words,
          origin: 'print',
          stdin: streams.input === 'given' ? { kind: 'descriptor', fd: 0 } : { kind: 'none' },
          outputTo: { stdout: 1, stderr: 2 },
          streams: 'separate',
          artifact: 'never',
        },
        {
          signal,
          text: false,
          // What is confined does not get the streams themselves.
          onEvent(event) {
            if (event.type !== 'output') return undefined
            return (event.stream === 'stderr' ? streams.stderr : streams.stdout).write(event.bytes)
          },
        },
      )
      await streams.stderr.write(`${head}result ${JSON.stringify(toWire(describe(result)))}\n`)
      return exitStatusOf(result)
    })
  },
}

/** A reader of notices looks at no more: the whole is one line. */
const mostNamed = 20

/** What cannot be told by the streams and the exit status. */
function describe(result: Result) {
  const told = pick(result, Object.keys(toldShape.properties) as (keyof ToldResult)[])
  return { ...told, notices: result.notices.slice(0, mostNamed) }
}
