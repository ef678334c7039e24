import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { createHome, type Home } from './home.ts'
import { endJobs } from './jobs.ts'

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
    // A holder of the model's runs ends a moment after its door, and writes until then.
    await endJobs(join(home.dir, 'state'))
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

/** One request to a server whose answers are written by hand. */
export interface HandRequest {
  messages: ChatMessage[]
  /** How many came before it. */
  index: number
  response: ServerResponse
  /** A piece of the answer, as the format has it. */
  say: (delta: object) => void
  call: (command: string, given?: object) => void
  /** The answer is whole. */
  end: (reason?: 'stop' | 'tool_calls') => void
  fail: (status: number, message: string, headers?: Record<string, string>) => void
}

/**
 * Runs `use` with a server of OpenAI's chat format whose answers may dribble, break off and stay away. As providers
 * do, it refuses messages in which a call is without its reply, or a reply without its call.
 */
export async function withServerByHand(
  answer: (request: HandRequest) => unknown,
  use: (home: Home, requests: readonly HandRequest[], url: string) => Promise<void>,
): Promise<void> {
  const requests: HandRequest[] = []
  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk as string
    const { messages } = JSON.parse(body) as { messages: ChatMessage[] }
    const write = (value: object) => response.write(`data: ${JSON.stringify(value)}\n\n`)
    const say = (delta: object, reason: string | null = null) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      const choices = [{ index: 0, delta, finish_reason: reason }]
      write({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices })
    }
    const request: HandRequest = {
      messages,
      index: requests.length,
      response,
      say,
      call(command, given = {}) {
        const called = { name: 'bash', arguments: JSON.stringify({ command, ...given }) }
        const id = `call_${requests.length}_${messages.length}`
        say({ tool_calls: [{ index: 0, id, type: 'function', function: called }] })
      },
      end(reason = 'stop') {
        say({}, reason)
        response.end('data: [DONE]\n\n')
      },
      fail(status, message, headers = {}) {
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify({ error: { message } }))
      },
    }
    requests.push(request)
    const wrong = describeUnpaired(messages)
    if (wrong === null) await answer(request)
    else request.fail(400, wrong)
  }
  const server = createServer((incoming, response) => void serve(incoming, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const home = createHome()
  home.write(home.userFile, { providers: { hand: { api: 'openai-chat', base_url: url } } })
  Object.assign(home.env, { SHELL: '/bin/bash' })
  try {
    await use(home, requests, url)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    // A holder of the model's runs ends a moment after its door, and writes until then.
    await endJobs(join(home.dir, 'state'))
    home.remove()
  }
}

function describeUnpaired(messages: readonly ChatMessage[]): string | null {
  let open: string[] = []
  for (const { role, tool_calls: calls = [], ...rest } of messages) {
    if (role === 'tool') {
      const id = String((rest as { tool_call_id?: unknown }).tool_call_id)
      if (!open.includes(id)) return `a reply without its call: ${id}`
      open = open.filter((it) => it !== id)
      continue
    }
    if (open.length > 0) return `calls without replies: ${open.join(', ')}`
    open = calls.map(({ id }) => id)
  }
  return open.length > 0 ? `calls without replies: ${open.join(', ')}` : null
}
