/** What was found out about one thing that nacre uses. */
export interface Check {
  name: string
  /** `missing`: something does not work that nacre can do without. `broken`: it cannot. */
  status: 'ok' | 'missing' | 'broken'
  /** What there is, or why there is nothing. */
  detail: string
  /** What to do about it; null where nothing is to be done. */
  advice: string | null
}

export function works(name: string, detail: string): Check {
  return { name, status: 'ok', detail, advice: null }
}
