import { setTimeout as delay } from 'node:timers/promises'
import { settle } from '../../helpers/screen.ts'
import type { World } from './world.ts'

/** A line as it is, or lines that match. */
export type Pattern = string | RegExp | Maybe

interface Maybe {
  line: string | RegExp
}

export const ok = '✓ exit 0 · <time>'
/** Any lines, or none. */
export const anything = /(?:.*\n)*?/

/** A line that may be there. */
export function maybe(line: string | RegExp): Maybe {
  return { line }
}

/** A sentence of nacre's own, which it wraps at its words in a narrow window. */
export function told(text: string): RegExp {
  const words = escape(text).replaceAll(/ +/g, String.raw`\s+`)
  return new RegExp(words.replaceAll('<time>', String.raw`(?:<time>|[\d.]+\nm?s)`))
}

/** What a line is typed behind. */
export function mark({ bash }: World): string {
  return bash ? 'bash>' : '>'
}

/** Types a command line in the present mode. */
export function type(world: World, command: string): void {
  say(world, `${world.bash ? '' : '!'}${command}\r`)
}

/** Types what is no command. */
export function say(world: World, line: string): void {
  world.last = null
  world.screen.type(line)
}

/** Runs a command that ends by itself, and looks at what it shows. `then`: what it changes. */
export async function run(
  world: World,
  command: string,
  wanted: Pattern[],
  then: () => void = () => undefined,
): Promise<void> {
  type(world, command)
  then()
  await shows(world, [`! ${command}`, ...wanted])
  world.last = { command, shows: wanted }
}

/** Settles when a command runs, and waits for what is typed. */
export async function running(world: World): Promise<void> {
  await world.screen.shows(/^running · /m)
  // What is typed before a program reads is for whoever reads next.
  await delay(100)
}

/** Settles when the prompt is there again, below exactly these lines. */
export async function shows(world: World, wanted: Pattern[]): Promise<void> {
  const expected = new RegExp(`^${wanted.map(sourceOf).join('')}$`)
  const prompt = mark(world)
  let told = ''
  const isSo = () => {
    const { above, line, column, below } = world.screen.page()
    const lines = above.slice(world.seen)
    const said = lines.map((one) => `${settle(one)}\n`).join('')
    const text = world.noise
      ? said.replaceAll(new RegExp(`${world.noise.source}\n`, 'g'), '')
      : said
    const bar = below[0] ?? ''
    const barBegins = `${world.bash ? '[BASH] ' : ''}~/${world.place}`
    told = [
      `wanted: ${expected.source}`,
      `got:    ${JSON.stringify(text)}`,
      `prompt ${JSON.stringify(line)}, column ${column}, below ${JSON.stringify(below)}, wanted bar ${barBegins}`,
    ].join('\n')
    return (
      !world.screen.isAlternate &&
      expected.test(text) &&
      line === prompt &&
      column === prompt.length + 1 &&
      bar.startsWith(barBegins.slice(0, world.columns - 20)) &&
      below.length === 1
    )
  }
  await world.screen.holds(isSo, () => told)
  world.seen = world.screen.page().above.length
}

function sourceOf(wanted: Pattern): string {
  if (wanted === anything) return wanted.source
  if (typeof wanted === 'string') return `${escape(wanted)}\\n`
  return wanted instanceof RegExp ? `(?:${wanted.source})\\n` : `(?:${sourceOf(wanted.line)})?`
}

/** Text as a pattern that only it matches. */
function escape(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}
