import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Schema } from 'ajv/dist/2020.js'
import { isObject } from '../protocol/shape/shape.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'

/** What an answer has to be. */
export interface OutputSchema {
  /** What the model is told with the prompt. */
  readonly request: string
  /** The value of an answer, or what is wrong with it. */
  read(text: string): { data: unknown } | { wrong: string }
}

/** A file's name, or the schema itself. Rejects with `MisuseError` where it is none. */
export async function openOutputSchema(given: string, cwd: string): Promise<OutputSchema> {
  const text = given.trimStart().startsWith('{') ? given : readSchemaFile(resolve(cwd, given))
  const schema = parseSchema(text)
  // A CommonJS module: what it exports is its default.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default
  // What a schema says beyond the standard is not for us to judge.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  const { $schema: _, ...own } = schema
  let validate: ReturnType<typeof ajv.compile>
  try {
    validate = ajv.compile(own as Schema)
  } catch (error) {
    throw wrongSchema(messageOf(error))
  }
  return {
    request:
      'Answer with JSON alone, no other text and no code fence, that meets this JSON Schema:\n' +
      JSON.stringify(schema),
    read(answer) {
      const found = parseAnswer(answer)
      if (found === null) return { wrong: 'it is no JSON' }
      if (validate(found.value)) return { data: found.value }
      return { wrong: ajv.errorsText(validate.errors, { dataVar: 'the answer' }).slice(0, 1000) }
    },
  }
}

function readSchemaFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw wrongSchema(messageOf(error))
  }
}

function parseSchema(text: string): Record<string, unknown> {
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch (error) {
    throw wrongSchema(messageOf(error))
  }
  if (isObject(schema)) return schema
  throw wrongSchema('it must be an object')
}

function wrongSchema(why: string): MisuseError {
  return new MisuseError(
    'invalid_field',
    `\`--output-schema\` needs a JSON Schema or a file that holds one: ${why}`,
    'output_schema',
  )
}

/** The JSON of an answer, also within a fence or a sentence; null where there is none. */
function parseAnswer(text: string): { value: unknown } | null {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1]
  const start = text.search(/[[{]/)
  const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
  for (const candidate of [text, fenced, start < 0 ? undefined : text.slice(start, end + 1)]) {
    if (candidate === undefined) continue
    try {
      return { value: JSON.parse(candidate) as unknown }
    } catch {
      // Perhaps the next one.
    }
  }
  return null
}
