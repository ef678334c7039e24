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
