import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measure, type Measured } from './measure.ts'
import { formatMb, formatMs, formatRatio, printTable } from './table.ts'

const root = join(import.meta.dirname, '../..')
const cli = join(root, 'bin/nacre.js')
const tools = join(root, '.tools')

const commands: Record<string, string> = {
  '1 GB of 80-byte lines': 'yes "$(printf %079d 0)" | head -c 1000000000',
  '200 MB of seq': 'seq 1 30000000 | head -c 200000000',
  '1 GB of NUL bytes': 'head -c 1000000000 /dev/zero',
  'one line of 500 MB': "head -c 500000000 /dev/zero | tr '\\0' x",
  '300 MB full of colours': `yes $'\\e[31mred\\e[0m \\e[1;32mgreen\\e[0m plain' | head -c 300000000`,
  '160 MB of \\r frames': "seq 10000000 30000000 | tr '\\n' '\\r' | head -c 160000000",
  '200 MB of random bytes': 'for i in {1..25}; do cat "$NACRE_BENCH_RANDOM"; done',
  '200 MB of Latin-1': `yes $'caf\\xe9 cr\\xe8me br\\xfbl\\xe9e \\xe0 la carte' | head -c 200000000`,
  '300 MB of wide characters': "yes '漢字かな交じり文、🚀 and ASCII text' | head -c 300000000",
}

/**
 * Complete output on disk and bounded text, against bash writing the same to a file, and beside a pipe with the
 * plainest of readers: no program that reads its commands is faster than that.
 */
export async function benchOutput(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const env = liftQuotas(folder)
  const random = join(folder, 'random')
  writeFileSync(random, randomBytes(8_000_000))
  // Every program that is measured finds it there.
  process.env['NACRE_BENCH_RANDOM'] = random
  const idle = (await runNacre('true', env)).peakBytes
  const head = ['output', 'bash > file', 'bash | cat > file', 'nacre', 'speed', 'against cat']
  const rows = [[...head, 'memory over idle', 'pi', 'gemini']]
  try {
    for (const [name, command] of Object.entries(commands)) {
      const file = join(folder, 'file')
      const bash = await measure(['bash', '-c', `${command} > ${file}`])
      const bytes = statSync(file).size
      const cat = await measure(['bash', '-c', `{ ${command}; } | cat > ${file}`])
      rmSync(file)
      const nacre = await runNacre(command, env)
      check(name, nacre, bytes)
      rmSync(join(folder, 'state'), { recursive: true, force: true })
      rows.push([
        name,
        formatMs(bash.ms),
        formatMs(cat.ms),
        formatMs(nacre.ms),
        formatRatio(bash.ms / nacre.ms),
        formatRatio(cat.ms / nacre.ms),
        formatMb(nacre.peakBytes - idle),
        await runPeer('pi', command, folder),
        await runPeer('gemini', command, folder),
      ])
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  printTable(
    'Output, whole process, artifact complete (speed: bash / nacre; against cat: cat / nacre)',
    rows,
  )
}

function runNacre(command: string, env: Record<string, string>): Promise<Measured> {
  return measure(
    [process.execPath, cli, '-c', command, '--output-format', 'json', '--artifact', 'always'],
    {
      env,
    },
  )
}

/** The artifact must hold every byte, or the row means nothing. */
function check(name: string, { stdout }: Measured, bytes: number): void {
  const { artifact } = JSON.parse(stdout) as {
    artifact: { bytes: number; complete: boolean } | null
  }
  if (artifact?.bytes !== bytes || !artifact.complete) {
    throw new Error(
      `${name}: ${bytes} bytes were written, the artifact is ${JSON.stringify(artifact)}`,
    )
  }
}

function liftQuotas(folder: string): Record<string, string> {
  const config = join(folder, 'config')
  mkdirSync(join(config, 'nacre'), { recursive: true })
  const artifacts = { artifact_bytes: 4e9, store_bytes: 20e9 }
  writeFileSync(join(config, 'nacre/config.json'), JSON.stringify({ artifacts }))
  return { XDG_CONFIG_HOME: config, XDG_STATE_HOME: join(folder, 'state') }
}

/** Time and peak memory of a peer's own executor, where it is installed and finishes within a minute. */
async function runPeer(name: string, command: string, folder: string): Promise<string> {
  const installed = join(tools, name === 'pi' ? 'pi' : 'peers')
  if (!existsSync(installed)) return 'not installed'
  const script = join(import.meta.dirname, 'peers', `${name}.mjs`)
  const env = { TMPDIR: folder, NACRE_BENCH_PEERS: installed }
  const peer = await measure([process.execPath, script, command], { env })
  return peer.finished ? `${formatMs(peer.ms)}, ${formatMb(peer.peakBytes)}` : 'not finished'
}

/** A writer without end, stopped after 3 s: how long the stop takes, and what it has cost. */
export async function benchEndless(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nacre-bench-'))
  const env = { XDG_STATE_HOME: join(folder, 'state') }
  try {
    const words = [process.execPath, cli, '-c', 'yes', '--timeout', '3', '--output-format', 'json']
    const endless = await measure(words, { env })
    const { artifact, duration_ms: durationMs } = JSON.parse(endless.stdout) as {
      artifact: { path: string; bytes: number }
      duration_ms: number
    }
    printTable('A writer without end, stopped after 3 s', [
      ['time to stop', 'written', 'on disk', 'memory'],
      [
        formatMs(durationMs - 3000),
        formatMb(artifact.bytes),
        formatMb(statSync(artifact.path).size),
        formatMb(endless.peakBytes),
      ],
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
