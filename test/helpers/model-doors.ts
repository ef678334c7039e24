import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import * as assert from 'uvu/assert'
import { type Client, type ClientOptions, startClient } from '../../lib/client.ts'
import { cliCommand } from './cli.ts'
import type { Home } from './jobs.ts'
import { models, type ModelServer } from './model-server.ts'
import { runCli } from './run-cli.ts'

export interface Answer {
  text: string
  isError: boolean
}
/** What a model calls, or what it calls once it knows the answers before. */
export type ToolCall =
  | readonly [name: string, args: object]
  | ((replies: readonly string[]) => ToolCall)
export const bash = (command: string, more: object = {}) => ['bash', { command, ...more }] as const
/** What a reply names; the reply itself, for a message, if it names none. */
export const logIn = (text = '') => /\/\S+\.log/.exec(text)?.[0] ?? text
export const artifactIn = (text = '') => /art_[a-z2-7]{20}/.exec(text)?.[0] ?? text

/** Calls a tool as a model does. */
export type Call = (name: string, args: object) => Promise<Answer>

export async function withMcp(
  { env: own }: Pick<Home, 'env'>,
  use: (call: Call, client: McpClient) => Promise<void>,
  { flags = [], cwd }: { flags?: string[]; cwd?: string } = {},
): Promise<void> {
  const [program = '', ...words] = cliCommand()
  const env = { ...(process.env as Record<string, string>), ...own }
  const client = new McpClient({ name: 'test', version: '1' })
  const args = [...words, 'mcp', ...flags]
  await client.connect(
    new StdioClientTransport({ command: program, args, env, ...(cwd && { cwd }) }),
  )
  const call: Call = async (name, args) => {
    const given = { name, arguments: { ...args } }
    const { content, isError = false } = (await client.callTool(given)) as CallToolResult
    return { text: content[0]?.type === 'text' ? content[0].text : '', isError }
  }
  try {
    await use(call, client)
  } finally {
    await client.close()
  }
}

export async function withRpc(
  { env: own }: Pick<Home, 'env'>,
  use: (call: Call, client: Client) => Promise<void>,
  { flags = [], ...options }: Partial<ClientOptions> & { flags?: string[] } = {},
): Promise<void> {
  const [program = '', ...words] = cliCommand()
  const env = { ...process.env, ...own, SHELL: '/bin/bash' }
  const command = [program, ...words, '--rpc', ...flags] as const
  const client = await startClient({ ...options, command, env })
  const call: Call = async (name, args) => {
    try {
      const { content, is_error: isError } = await client.request('tool.call', {
        name,
        arguments: args as Record<string, unknown>,
      })
      return { text: content.map(({ text }) => text).join(''), isError }
    } catch (error) {
      return { text: String(error), isError: true }
    }
  }
  try {
    await use(call, client)
  } finally {
    await client.close()
  }
}

function callOf(
  call: ToolCall,
  replies: readonly string[] = [],
): { name: string; arguments: string } {
  if (typeof call === 'function') return callOf(call(replies), replies)
  return { name: call[0], arguments: JSON.stringify(call[1]) }
}

/** Has the scripted model call these tools for a prompt; gives the array that its replies come to stand in. */
export function script(
  { mock }: ModelServer,
  prompt: string,
  calls: readonly ToolCall[],
): string[] {
  const replies: string[] = []
  mock.onMessage(prompt, ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    const told = messages.slice(last + 1).filter(({ role }) => role === 'tool')
    replies.splice(0, Infinity, ...told.map(({ content }) => content as string))
    const next = calls[told.length]
    return next ? { toolCalls: [callOf(next, replies)] } : { content: 'done' }
  })
  return replies
}

/** The texts of the tools that the scripted model has called for a prompt over RPC. */
export async function promptModel(
  server: ModelServer,
  client: Client,
  text: string,
  calls: readonly ToolCall[],
  params: { share?: string[]; share_write?: string[]; conversation?: string } = {},
): Promise<string[]> {
  const replies = script(server, text, calls)
  const { status, error } = await client.request('prompt', { text, ...params })
  assert.is(status, 'answered', JSON.stringify(error))
  return replies
}

/** The texts of the tools that the scripted model has called for a prompt. */
export async function askModel(
  server: ModelServer,
  prompt: string,
  calls: readonly ToolCall[],
  args: readonly string[] = [],
): Promise<{ replies: string[]; conversation: string }> {
  const { home } = server
  const replies = script(server, prompt, calls)
  const options = ['--model', models[0], '--output-format', 'json', '--quiet', ...args]
  const { stdout } = await runCli(['-p', ...options, prompt], {
    cwd: home.workspace,
    env: home.env,
  })
  const result = JSON.parse(stdout.toString()) as { status: string; conversation_id: string }
  assert.is(result.status, 'answered', stdout.toString())
  return { replies, conversation: result.conversation_id }
}
