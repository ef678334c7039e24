import type { ListResourcesResult, ReadResourceResult } from '@modelcontextprotocol/sdk/types.js'
import type { Reach } from '../../executor/reach.ts'
import { MisuseError } from '../../protocol/errors.ts'
import { startOf } from '../../protocol/words.ts'

const mimeType = 'text/plain'

export const artifactTemplate = {
  name: 'artifact',
  title: 'Complete output of a command',
  uriTemplate: 'artifact://{id}',
  mimeType,
}

/** What earlier runs of this connection left, newest first. */
export async function listArtifacts({ artifacts }: Reach): Promise<ListResourcesResult> {
  const list = (await artifacts?.list()) ?? []
  return {
    resources: list.map(({ id, uri, command, bytes, createdAt }) => ({
      uri,
      name: id,
      title: startOf(command, 80),
      description: `Output of \`${command}\`, ${createdAt}`,
      size: bytes,
      mimeType,
    })),
  }
}

/** The beginning of an artifact as clean text; the tool artifact reads the rest. */
export async function readArtifact(uri: string, { artifacts }: Reach): Promise<ReadResourceResult> {
  if (artifacts === null) {
    throw new MisuseError('not_found', 'No output is kept here: there is no state folder', 'uri')
  }
  const { text, line, column } = await artifacts.read(uri)
  const more =
    line === null
      ? ''
      : `\n[to go on, call the tool artifact with line ${line}, column ${column}]\n`
  return { contents: [{ uri, mimeType, text: text + more }] }
}
