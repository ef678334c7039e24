import { rpcClientMethods, rpcMethods, rpcNotifications } from '../../lib/protocol/rpc/methods.ts'
import { jsonSchema, type ObjectShape } from '../../lib/protocol/shape/shape.ts'

/**
 * The whole protocol as JSON Schemas: of each method `params` and `result`, of each notification its
 * `params`. The build writes it to `dist/rpc.schema.json`.
 */
export function describeProtocol() {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Messages of nacre --rpc (JSON-RPC 2.0)',
    methods: describeMethods(rpcMethods),
    notifications: mapValues(rpcNotifications, (shape) => jsonSchema(shape)),
    client_methods: describeMethods(rpcClientMethods),
  }
}

type MethodShapes = Readonly<Record<string, { params: ObjectShape; result: ObjectShape }>>

const describeMethods = (methods: MethodShapes) =>
  mapValues(methods, ({ params, result }) => ({
    params: jsonSchema(params),
    result: jsonSchema(result),
  }))

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  map: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
}
