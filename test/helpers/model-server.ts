import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { createHome, type Home } from './home.ts'

/** A server that speaks the wire formats of the providers, with answers of a script. */
export interface ModelServer {
  readonly mock: LLMock
  readonly home: Home
  /** What the models were asked, oldest first, in the form of OpenAI's chat. */
  requests(): { messages: ChatMessage[]; model: string }[]
}

export interface ChatMessage {
  role: string
  content: unknown
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}

/** The three wire formats, each as a provider of the configuration with a model that it knows. */
export const models = [
  'chat/any-model',
  'responses/gpt-5-mini',
  'claude/claude-sonnet-4-5',
] as const

/** A key that must be seen nowhere. */
export const secretKey = 'sk-secret-of-the-tests-0123456789'

/** Runs `use` with a server, and a home whose configuration names it. */
export async function withModelServer(use: (server: ModelServer) => Promise<void>): Promise<void> {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  await mock.start()
  const home = createHome()
  const provider = (api: string) => ({ api, base_url: `${mock.url}/v1`, key_env: 'TEST_MODEL_KEY' })
  home.write(home.userFile, {
    providers: {
      chat: provider('openai-chat'),
      responses: provider('openai-responses'),
      claude: provider('anthropic'),
    },
  })
  Object.assign(home.env, { TEST_MODEL_KEY: secretKey, SHELL: '/bin/bash' })
  try {
    await use({
      mock,
      home,
      requests: () =>
        mock
          .getRequests()
          .map(({ body }) => body as never as ReturnType<ModelServer['requests']>[0]),
    })
  } finally {
    await mock.stop()
    home.remove()
  }
}

/** The text of all messages of a request, tool results too. */
export function textOfRequest(request: { messages: ChatMessage[] } | undefined): string {
  return JSON.stringify(request?.messages ?? [])
}

/** What the scripted model answers once the test passes. */
export const repaired = 'I mended `add`; the test passes now.'

/** A repository with a test that prints much and fails. */
export function prepareRepository(folder: string): void {
  writeFileSync(join(folder, 'add.sh'), 'add() { echo $(($1 - $2)); }\n')
  writeFileSync(
    join(folder, 'test.sh'),
    'seq 1 3000\n. ./add.sh\n[ "$(add 2 3)" = 5 ] && echo ok || { echo "add 2 3 is $(add 2 3)" >&2; exit 1; }\n',
  )
}

/** Answers as a model would: each step from what the step before has shown. */
export function scriptRepair(mock: ModelServer['mock']): void {
  let artifact = ''
  const call = (name: string, given: object) => ({
    toolCalls: [{ name, arguments: JSON.stringify(given) }],
  })
  mock.onMessage('repair', (request) => {
    const replies = request.messages.filter(({ role }) => role === 'tool')
    const last = (replies.at(-1)?.content ?? '') as string
    switch (replies.length) {
      case 0:
        return call('bash', { command: 'ls *.sh && sh test.sh' })
      case 1:
        artifact = /art_[a-z2-7]{20}/.exec(last)?.[0] ?? ''
        return call('artifact', { id: artifact, grep: 'add 2' })
      case 2:
        if (!last.includes('add 2 3 is -1')) return { content: `wrong: ${last}` }
        return call('bash', { command: "sed -i 's/\\$1 - \\$2/$1 + $2/' add.sh && cat add.sh" })
      case 3:
        return call('bash', { command: 'sh test.sh', tail: 1 })
      default:
        return { content: last.includes('ok') ? repaired : last }
    }
  })
}
