import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A user with a home of its own, and nothing in it. */
export interface Home {
  dir: string
  /** Folder of a workspace in it: a git root. */
  workspace: string
  /** `NACRE_*` of the tests' own environment are not among it. */
  env: Record<string, string | undefined>
  /** The file of the user's configuration. */
  userFile: string
  workspaceFile: string
  write: (path: string, content: string | object) => void
  remove(): void
}

export function createHome(): Home {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'home-')))
  const workspace = join(dir, 'work')
  mkdirSync(join(workspace, '.git'), { recursive: true })
  const own = Object.keys(process.env).filter(
    (name) => name.startsWith('NACRE_') && !name.startsWith('NACRE_TEST'),
  )
  return {
    dir,
    workspace,
    env: {
      ...Object.fromEntries(own.map((name) => [name, undefined])),
      HOME: dir,
      XDG_CONFIG_HOME: undefined,
      XDG_STATE_HOME: join(dir, 'state'),
      PWD: workspace,
    },
    userFile: join(dir, '.config', 'nacre', 'config.json'),
    workspaceFile: join(workspace, '.nacre', 'config.json'),
    write(path, content) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
    },
    remove: () => rmSync(dir, { recursive: true }),
  }
}

/** Hands a home to a test and removes it afterwards. */
export function withHome(use: (home: Home) => Promise<void>): () => Promise<void> {
  return async () => {
    const home = createHome()
    try {
      await use(home)
    } finally {
      home.remove()
    }
  }
}
