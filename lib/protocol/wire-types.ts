/** `timeoutSeconds` → `timeout_seconds`, as a type. */
type SnakeCase<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? Letter extends Lowercase<Letter>
    ? `${Letter}${SnakeCase<Rest>}`
    : `_${Lowercase<Letter>}${SnakeCase<Rest>}`
  : Name

/** What `toWire` makes of a value of this type. */
export type Wire<Value> = Value extends readonly unknown[]
  ? { [Index in keyof Value]: Wire<Value[Index]> }
  : Value extends object
    ? {
        [Key in keyof Value as Key extends string ? SnakeCase<Key> : never]: Key extends OpaqueName
          ? Value[Key]
          : Wire<Value[Key]>
      }
    : Value

/** Values whose keys are somebody's own names, never ours to change. */
export type OpaqueName =
  | 'env'
  | 'inputSchema'
  | 'details'
  | 'arguments'
  | 'input'
  | 'data'
  | 'opaque'
