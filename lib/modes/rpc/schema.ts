import { schemaOfParams } from '../../protocol/json-schema.ts'
import type { MethodName } from '../../protocol/rpc-messages.ts'
import { methods } from './methods.ts'
import { clientMethodSchemas, notificationSchemas, resultSchemas } from './result-schemas.ts'

/**
 * The whole protocol as JSON Schemas: of each method `params` and `result`, of each notification its
 * `params`. The build writes it to `dist/rpc.schema.json`.
 */
export function describeProtocol() {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Messages of nacre --rpc (JSON-RPC 2.0)',
    methods: Object.fromEntries(
      [...methods].map(([name, { params }]) => [
        name,
        { params: schemaOfParams(params), result: resultSchemas[name as MethodName] },
      ]),
    ),
    notifications: notificationSchemas,
    client_methods: clientMethodSchemas,
  }
}
