import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { isObject } from '../protocol/shape/shape.ts'
import { messageOf, MisuseError } from '../protocol/errors.ts'

/** What an answer has to be. */
export interface OutputSchema {
  /** What the model is told with the prompt. */
  readonly request: string
  /** The value of an answer, or what is wrong with it. */
  read(text: string): { data: unknown } | { wrong: string }
}

/** A file's name, or the schema itself. Rejects with `MisuseError` if it is none. */
export async function openOutputSchema(given: string, cwd: string): Promise<OutputSchema> {
  // A CommonJS module: what it exports is its default.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default
  // What a schema says beyond the standard is not for us to judge.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  const { schema, validate } = readSchema()
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

  function readSchema() {
    try {
      const isInline = given.trimStart().startsWith('{')
      const text = isInline ? given : readFileSync(resolve(cwd, given), 'utf8')
      const schema: unknown = JSON.parse(text)
      if (!isObject(schema)) throw new Error('it must be an object')
      const { $schema: _, ...own } = schema
      return { schema, validate: ajv.compile(own) }
    } catch (error) {
      const message = `\`--output-schema\` needs a JSON Schema or a file that holds one: ${messageOf(error)}`
      throw new MisuseError('invalid_field', message, 'output_schema')
    }
  }
}

/** The JSON of an answer, also within a fence or a sentence; null if there is none. */
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
