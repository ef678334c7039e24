/** What tests use of it: the package stands under another's name, which its own types do not know. */
declare module 'node-pty' {
  export interface IPty {
    readonly pid: number
    write(data: string): void
    resize(columns: number, rows: number): void
    kill(signal?: string): void
    /** Closes the terminal, as its window does. */
    destroy(): void
    onData(listener: (data: string) => void): void
    onExit(listener: (exit: { exitCode: number; signal?: number }) => void): void
  }
  export function spawn(
    file: string,
    args: string[],
    options: {
      name: string
      cols: number
      rows: number
      cwd: string
      env: Record<string, string>
    },
  ): IPty
}
