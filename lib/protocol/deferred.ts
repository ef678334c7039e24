/** A promise and what settles it. */
export interface Deferred<Value> {
  promise: Promise<Value>
  resolve: (value: Value | PromiseLike<Value>) => void
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

/** Something that is made, and what it needs loaded, when it is first asked for. */
export interface Lazy<Value> {
  open: () => Promise<Value>
  /** Null as long as nobody has asked, or it is being made. */
  readonly made: Value | null
}

/** What could not be made is made anew when it is asked for again. */
export function createLazy<Value>(make: () => Promise<Value>): Lazy<Value> {
  let opening: Promise<Value> | null = null
  let made: Value | null = null
  async function begin(): Promise<Value> {
    try {
      return (made = await make())
    } catch (error) {
      opening = null
      throw error
    }
  }
  return {
    open: () => (opening ??= begin()),
    get made() {
      return made
    },
  }
}
