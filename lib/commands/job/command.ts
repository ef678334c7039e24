import { join } from 'node:path'
import { openJobs } from '../../executor/jobs/jobs.ts'
import { fields, option, toggle } from '../../protocol/request/fields.ts'
import { jobFilter, readingParams } from '../../protocol/result/reading.ts'
import { limits } from '../../protocol/limits.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { programWords } from '../../system/runtime.ts'
import { checkActionFlags, fieldFlags, flagsOf, answerFlags, chooseAction } from '../answer.ts'
import type { Command } from '../../doors/command.ts'
import { jobActions } from './actions.ts'

export const command: Command = {
  name: 'job',
  usage: 'nacre job list|show|read|tasks|wait|write|kill|attach|resume …',
  description: 'The jobs of every nacre of this user',
  flags: [
    ...flagsOf(['list'], fieldFlags(jobFilter)),
    ...flagsOf(['read'], fieldFlags(readingParams)),
    ...flagsOf(
      ['wait'],
      [
        option('ready', fields.ready, 'Until it is ready, not to its end'),
        toggle('any', 'For the first of several, not for all'),
        option(
          'timeout',
          shape.number('', { min: 0, unit: 'seconds' }),
          `At most so long (default and most ${limits.jobWaitSeconds})`,
        ),
      ],
    ),
    ...flagsOf(
      ['write'],
      [
        toggle('line', 'End the text with a newline'),
        toggle('eof', 'End the input after the text'),
      ],
    ),
    ...answerFlags,
  ],
  details: [
    '  nacre job list                  all jobs, those that run and those that ended lately',
    '  nacre job show <id>             how one stands',
    '  nacre job read <id>             what it wrote (since --cursor)',
    '  nacre job tasks <id>            how each task of an array has ended',
    '  nacre job wait <id>…            wait for its end; its exit status, or 124 while it runs on',
    '  nacre job write <id> <text>     type into it (one with --pty or --open-stdin)',
    '  nacre job attach <id>           show what it writes from now on; type into one with a terminal;',
    '                                  Ctrl-] leaves it',
    '  nacre job kill <id>             stop it and everything that it started',
    '  nacre job resume <id>           run the tasks of an array that have no end, after a kill of nacre',
    '',
    'An id may be shortened to its beginning, with or without `run_`.',
  ],
  takesIds: {
    jobs: ['show', 'read', 'tasks', 'wait', 'resume'],
    running: ['write', 'attach', 'kill'],
  },
  examples: [
    "nacre -c 'npm run dev' --background --ready port:3000",
    'nacre job list --output-format json',
    'nacre job read k5x2 --cursor 1024',
    'nacre job wait k5x2 --timeout 60',
    'nacre job write k5x2 yes --line',
    'nacre job attach k5x2',
    'nacre job kill k5x2',
    'nacre job resume k5x2',
  ],
  run(context) {
    const [name = '', ...words] = context.positionals
    const action = chooseAction(jobActions, name, command.usage)
    checkActionFlags('nacre job', name, command.flags, context.options)
    const { environment, stateDir } = context
    const taker = { words: [...programWords(process), 'take-up'], environment }
    const jobs = openJobs(join(stateDir, 'jobs'), taker)
    return action({ jobs, words, context })
  },
}
