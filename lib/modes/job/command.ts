import { join } from 'node:path'
import { type KnownJobs, openKnownJobs } from '../../executor/registry/known-jobs.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import * as shape from '../../protocol/shape/shape.ts'
import { unknownName } from '../../protocol/wire.ts'
import { answerFlags, type Command } from '../command.ts'
import { jobActions } from './actions.ts'

export const command: Command = {
  name: 'job',
  usage: 'nacre job list|show|read|wait|write|kill …',
  description: 'The jobs of every nacre of this user',
  flags: [
    {
      name: 'cursor',
      description: 'read: only what came after this cursor (default 0)',
      shape: shape.integer(),
    },
    {
      name: 'timeout',
      description: `wait: at most so long (default and most ${limits.jobWaitSeconds})`,
      shape: shape.number('', { min: 0, unit: 'seconds' }),
    },
    { name: 'line', shape: null, description: 'write: end the text with a newline' },
    { name: 'eof', shape: null, description: 'write: end the input after the text' },
    ...answerFlags,
  ],
  details: [
    '  nacre job list                  all jobs, those that run and those that ended lately',
    '  nacre job show <id>             how one stands',
    '  nacre job read <id>             what it wrote (since --cursor)',
    '  nacre job wait <id>             wait for its end; its exit status, or 124 while it runs on',
    '  nacre job write <id> <text>     type into it (one with --pty or --open-stdin)',
    '  nacre job kill <id>             stop it and everything that it started',
    '',
    'An id may be shortened to its beginning, with or without `run_`.',
  ],
  examples: [
    "nacre -c 'npm run dev' --background --ready port:3000",
    'nacre job list --output-format json',
    'nacre job read k5x2 --cursor 1024',
    'nacre job wait k5x2 --timeout 60',
    'nacre job write k5x2 yes --line',
    'nacre job kill k5x2',
  ],
  run(context) {
    const [name, ...words] = context.positionals
    if (name === undefined) {
      throw new MisuseError('wrong_usage', `Say what to do: ${command.usage}`)
    }
    const action = Object.hasOwn(jobActions, name) ? jobActions[name] : undefined
    if (!action) throw unknownName('job command', name, Object.keys(jobActions))
    const jobs: KnownJobs = openKnownJobs(join(context.stateDir, 'jobs'))
    return action({ jobs, words, json: context.options['output-format'] === 'json', context })
  },
}
