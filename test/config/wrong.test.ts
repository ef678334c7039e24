import { chmodSync, mkdirSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readConfiguration } from '../../lib/config/configuration.ts'
import { MisuseError } from '../../lib/protocol/errors.ts'
import { type Home, withHome } from '../helpers/home.ts'

async function refusal({ env, workspace }: Home, changes: Record<string, string> = {}) {
  try {
    await readConfiguration({ environment: { ...env, ...changes }, cwd: workspace })
  } catch (error) {
    assert.instance(error, MisuseError)
    return (error as MisuseError).message
  }
  throw new Error('it was accepted')
}

/** The text of a file, the line at fault, and the sentence. */
const files: [what: string, text: string, line: number, sentence: RegExp][] = [
  ['a key', '{\n"max_line": 3}', 2, /Unknown key `max_line`; did you mean `max_lines`\?$/],
  ['a key in camel case', '{"maxLines": 3}', 1, /did you mean `max_lines`\?$/],
  ['a key like no other', '{"zzzzzzzzz": 3}', 1, /Unknown key `zzzzzzzzz`$/],
  [
    'a key of a group',
    '{\n"timeouts": {\n"slwo": 3}}',
    3,
    /`timeouts.slwo`; did you mean `timeouts.slow`\?$/,
  ],
  ['a group', '{\n\n"timeouts": 3}', 3, /`timeouts` must be an object, not 3$/],
  [
    'a text for a number',
    '{"tail":\n"x"}',
    1,
    /`tail` must be a whole number, 0 or more, not "x"$/,
  ],
  [
    'a number out of range',
    '{"max_lines": 0}',
    1,
    /`max_lines` must be a whole number, 1 or more, not 0/,
  ],
  ['a choice', '{"sandbox": "workspac"}', 1, /one of off, auto, .*; did you mean "workspace"\?$/],
  ['a switch', '{"login": "yes"}', 1, /`login` must be true or false, not "yes"$/],
  ['a variable', '{"env": {"A": "x",\n "B": 1}}', 2, /`env.B` must be a text, not 1$/],
  ['null', '{"shell": null}', 1, /`shell` must be a text that is not empty, not null$/],
  ['words', '{"prefix": ["nix", 3]}', 1, /`prefix\[1\]` must be a text that is not empty, not 3$/],
  ['no rules', '{"guard": {"rules": {}}}', 1, /`guard.rules` must be a list of objects/],
  [
    'a key of a rule',
    '{"guard": {"rules": [\n{"match": "a", "decision": "deny"},\n{"match": "b",\n"decison": "deny"}]}}',
    4,
    /Unknown key `decison`; did you mean `decision`\?$/,
  ],
  [
    'a decision',
    '{"guard": {"rules": [\n{"match": "a",\n"decision": "dney"}]}}',
    3,
    /must be one of allow, redirect, ask, deny, not "dney"; did you mean "deny"\?$/,
  ],
  [
    'a rule without',
    '{"guard": {"rules": [\n{"match": "a"}]}}',
    2,
    /`guard.rules\[0\].decision` is missing/,
  ],
  ['a tool', '{"guard": {"suggest_tool": {"raed": "x"}}}', 1, /`raed`; did you mean `read`\?$/],
  ['a host', '{\n"hosts": {"a": "foo://x"}}', 2, /`hosts.a` must be ssh:.*, not `foo:\/\/x`$/],
  ['no JSON', '{\n"tail": 3\n"head": 4}', 3, /This is no JSON: Unexpected token String found\.$/],
  ['half of it', '{\n"tail', 2, /This is no JSON: Unexpected end of input found\.$/],
  ['nothing', '', 1, /This is no JSON: Unexpected end of input found\.$/],
  ['a list', '[]', 1, /The configuration must be an object$/],
]
for (const [what, text, line, sentence] of files) {
  test(
    `wrong in the file: ${what}`,
    withHome(async (home) => {
      home.write(home.userFile, text)
      const message = await refusal(home)
      assert.ok(message.startsWith(`${home.userFile}:${line}: `), message)
      assert.match(message, sentence)
      home.write(home.userFile, '{}')
      home.write(home.workspaceFile, text)
      const { notices } = await readConfiguration({ environment: home.env, cwd: home.workspace })
      const notice = message.replace(home.userFile, home.workspaceFile)
      assert.ok(notices[0]?.startsWith(notice), notices[0])
      assert.match(notices[0] ?? '', /; (it|the file) is ignored$/)
    }),
  )
}

const variables: [name: string, text: string, sentence: RegExp][] = [
  ['NACRE_TAIL', 'x', /^NACRE_TAIL: `tail` must be a whole number, 0 or more, not "x"$/],
  ['NACRE_SANDBOX', 'wrkspace', /^NACRE_SANDBOX: .*; did you mean "workspace"\?$/],
  ['NACRE_LOGIN', 'maybe', /^NACRE_LOGIN: `login` must be true or false/],
  ['NACRE_SANDBX', 'off', /^NACRE_SANDBX: Unknown variable; did you mean `NACRE_SANDBOX`\?$/],
  ['NACRE_ENV', '{', /^NACRE_ENV: `env` must be an object of texts, not "\{"$/],
  ['NACRE_GUARD_RULES', '[{}]', /^NACRE_GUARD_RULES: `guard.rules\[0\].match` is missing/],
]
for (const [name, text, sentence] of variables) {
  test(
    `wrong in the environment: ${name}=${text}`,
    withHome(async (home) => {
      assert.match(await refusal(home, { [name]: text }), sentence)
    }),
  )
}

test(
  'a file that cannot be read',
  withHome(async (home) => {
    mkdirSync(home.userFile, { recursive: true })
    const message = await refusal(home)
    assert.ok(
      message.startsWith(
        `${home.userFile}: The configuration cannot be read: it is no regular file`,
      ),
      message,
    )
    chmodSync(home.userFile, 0o700)
  }),
)

test.run()
