/** What stands at the bottom of the screen: never wider than the terminal. */
export interface Frame {
  lines: string[]
  /** Within the lines; null hides it. */
  cursor: { row: number; column: number } | null
}

/** One thing that draws itself there and takes the keys, one whole key sequence at a time. */
export interface View {
  render(columns: number, rows: number): Frame
  key(data: string): void
}

/** Takes the whole screen and the bytes from the keyboard as they come. */
export interface FullScreen {
  /** What to write first, and last: the modes of the terminal that it wants. */
  enter(): string
  leave(): string
  /** What to write so that the screen shows it. `afresh`: nothing of it is there yet. */
  draw(columns: number, rows: number, afresh: boolean): string
  input(data: string): void
}
