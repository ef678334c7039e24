import { readdirSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withScreen } from '../helpers/screen.ts'
import { findSshObstacle, type Server, startServer } from '../helpers/ssh-host.ts'

const secret = 'correct-horse-battery'

function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
}

const name = 'ssh asks for its secret, which nothing shows or keeps, and opens a shell'
const obstacle = findSshObstacle()
if (obstacle !== null) console.log(`SKIP ${name}: ${obstacle}`)
else {
  test(name, async () => {
    let server: Server
    try {
      server = await startServer(secret)
    } catch (error) {
      console.log(`SKIP ${name}: ${String(error)}`)
      return
    }
    try {
      await withScreen({}, async (screen) => {
        const options =
          `-F none -p ${server.port} -i ${server.folder}/user -o IdentitiesOnly=yes ` +
          `-o UserKnownHostsFile=${server.folder}/known`
        await screen.shows('> ')
        screen.type(`!ssh ${options} ${userInfo().username}@127.0.0.1 'echo inside; tty'\r`)
        await screen.shows('continue connecting')
        await screen.answers('yes\r', 'Enter passphrase')
        await screen.shows('a secret is not shown')
        await screen.answers(`${secret}\r`, '✗ exit 1')
        assert.match(screen.text(), 'inside')
        assert.not.match(screen.raw(), secret)
        assert.equal(filesWith(screen.home, secret), [])
      })
    } finally {
      await server.close()
    }
  })
}

test.run()
