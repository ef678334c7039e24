import { limits } from '../../protocol/limits.ts'
import { type SessionInfo, StartError } from '../../protocol/ports.ts'

/** Sessions by their keys. */
export interface Shelf<Session> {
  get(key: string): Session | undefined
  /** Keeps one more. Throws `StartError` where there are too many. */
  add(key: string, make: () => Session): Session
  /** Forgets one that has closed by itself. */
  drop(key: string): void
  list(): SessionInfo[]
  /** Closes those of this name. False: there is none. */
  close(name: string): Promise<boolean>
  closeAll(): Promise<void>
}

interface Kept {
  info(): SessionInfo
  close(): Promise<void>
}

/** Holds at most `most` sessions at once; `where` is a part of the sentence that refuses more. */
export function createShelf<Session extends Kept>({
  most = limits.sessions,
  where = '',
}: {
  most?: number | undefined
  where?: string
} = {}): Shelf<Session> {
  const sessions = new Map<string, Session>()

  async function closeWhere(isMeant: (session: Session) => boolean): Promise<boolean> {
    const meant = [...sessions].filter(([, session]) => isMeant(session))
    for (const [key] of meant) sessions.delete(key)
    await Promise.all(meant.map(([, session]) => session.close()))
    return meant.length > 0
  }

  return {
    get: (key) => sessions.get(key),
    add(key, make) {
      if (sessions.size >= most) {
        throw new StartError(
          'too_many_sessions',
          `${most} sessions are open${where} already; close one first`,
        )
      }
      const session = make()
      sessions.set(key, session)
      return session
    },
    drop: (key) => void sessions.delete(key),
    list: () => [...sessions.values()].map((session) => session.info()),
    close: (name) => closeWhere((session) => session.info().name === name),
    closeAll: async () => void (await closeWhere(() => true)),
  }
}
