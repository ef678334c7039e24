/** A promise and what settles it. */
export interface Deferred<Value> {
  promise: Promise<Value>
  resolve: (value: Value) => void
}

/** `Promise.withResolvers`, which Node 20 lacks. */
export function createDeferred<Value = void>(): Deferred<Value> {
  let resolve: Deferred<Value>['resolve'] = () => {}
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

/** Settles when the signal aborts: at once where it has. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
