/*
 * How the rewriter makes text of 32 bytes in one step: one bit of a number for each byte says what becomes
 * of it, and shuffles close the gaps. Source text for `bytes/wasm.ts`.
 */

/** A step reads one byte beyond these. */
export const blockBytes = 32

/** What it takes besides `at`, `out`, `end`, `line`, `uneven`, `valid`, `safeAt`, `safeOut` and `invalid`. */
const masksOfText = 'length mask next newlines high stops kept dropped replaced going'
const masksOfCharacters = 'escapes ends bit5 two three four third last c1'
export const blockLocals = `${masksOfText} ${masksOfCharacters}`.split(' ')
export const blockVectors = ['v', 'w', 'filler']

/** U+FFFD, in the order of bytes of a number. */
export const replacement = 0xbdbfef

const shuffleBytes = 16
/** In the last byte of a shuffle of four: how many bytes it makes. */
const lengthAt = 15
const replacedFrom = 256 * 8 + 8
/** So many replaced bytes cost as much one by one as all shuffles. */
const few = 8

export const shuffleTableBytes = replacedFrom + 256 * shuffleBytes + 16

/**
 * The shuffles: for each set of 8 bytes that stay, 8 places; then for each set of 4 that stay and each set
 * of 4 that become U+FFFD, 12 places; then U+FFFD as the second number of a vector.
 */
export function buildShuffles(): Uint8Array {
  const table = new Uint8Array(shuffleTableBytes)
  for (let kept = 0; kept < 256; kept++) {
    let at = kept * 8
    for (let place = 0; place < 8; place++) if (kept & (1 << place)) table[at++] = place
  }
  for (let set = 0; set < 256; set++) {
    const start = replacedFrom + set * shuffleBytes
    let at = start
    for (let place = 0; place < 4; place++) {
      if (set & (16 << place)) for (const part of [4, 5, 6]) table[at++] = part
      else if (set & (1 << place)) table[at++] = place
    }
    table[start + lengthAt] = at - start
  }
  new DataView(table.buffer).setInt32(shuffleTableBytes - 12, replacement, true)
  return table
}

/** Sets the vector that fills in U+FFFD. */
export const loadFiller = (table: number) =>
  `i32.const 0  v128.load ${table + shuffleTableBytes - 16}  set filler`

const not = 'i32.const -1  i32.xor'

/** One bit for each byte for which `test` leaves a byte with its highest bit set. */
const bits = (test: (vector: string) => string) =>
  `${test('v')}  i8x16.bitmask  ${test('w')}  i8x16.bitmask  i32.const 16  i32.shl  i32.or`
const is = (byte: number) => bits((vector) => `get ${vector}  splat ${byte}  i8x16.eq`)
const within = (first: number, count: number) =>
  bits((vector) => `get ${vector}  splat ${first}  i8x16.sub  splat ${count - 1}  i8x16.le_u`)
/** The bytes behind those. */
const behind = (mask: string) => `${mask}  i32.const 1  i32.shl`
const before = (name: string, by: number) => `get ${name}  i32.const ${by}  i32.shr_u`

/** Nothing in binary data moves a cursor. */
const binaryControls = `
${is(0x1b)}  tee escapes  ${not}  get stops  i32.and  set dropped
get escapes  set stops`

/** Colours go, NUL bytes, and carriage returns at the end of a line. */
const textControls = `
get stops
${is(0)}  ${is(0x0d)}  get newlines  i32.const 1  i32.shr_u  i32.and  i32.or  tee dropped
${not}  i32.and  set stops
${is(0x1b)}  tee escapes
if
  get stops  get escapes  ${not}  i32.and  set stops
  (the first byte behind the parameters of each)
  ${within(0x30, 12)}  set mask
  ${behind(`${behind('get escapes')}  ${is(0x5b)}  i32.and`)}  set ends
  get ends  get mask  i32.and  get mask  i32.add  get mask  ${not}  i32.and
  get ends  get mask  ${not}  i32.and  i32.or
  ${is(0x6d)}  i32.and  set ends
  loop
    (from the last one on, until each that is left has its end)
    get ends  i32.popcnt  get escapes  i32.popcnt  i32.eq  i32.eqz
    if
      i32.const 0x80000000  get escapes  i32.clz  i32.shr_u  tee mask
      get stops  i32.or  set stops
      get mask  i32.const 1  i32.sub  tee mask  get escapes  i32.and  set escapes
      get mask  get ends  i32.and  set ends
      br 1
    end
  end
  ${behind('get ends')}  get escapes  i32.sub  get dropped  i32.or  set dropped
end`

/** Whatever is no valid character, by the lengths of those that begin in each place. */
const characters = (isBinary: boolean) => `
${
  isBinary
    ? ''
    : `get high  set replaced
(most text of 8 bits has no byte that could go on behind one that begins a character)
${behind(within(0xc2, 51))}  get going  i32.and
if`
}
${bits((vector) => `get ${vector}  splat 32  v128.and  splat 32  i8x16.eq`)}  set bit5
${behind(within(0xc2, 30))}  get going  i32.and  set two
(no overlong forms, no surrogates, nothing above U+10FFFF: all told by the second byte)
${behind(is(0xe0))}  get bit5  ${not}  i32.and
${behind(is(0xed))}  get bit5  i32.and  i32.or
${behind(is(0xf0))}  ${within(0x80, 16)}  i32.and  i32.or
${behind(is(0xf4))}  ${within(0x80, 16)}  ${not}  i32.and  i32.or
${not}  get going  i32.and  set mask
${behind(within(0xe0, 16))}  get mask  i32.and  set three
${behind(within(0xf0, 5))}  get mask  i32.and  set four
${behind('get three')}  get going  i32.and  set third
${behind('get four')}  get going  i32.and  tee mask
get two  get three  i32.or  get four  i32.or  get third  i32.or  i32.or
${behind('get mask')}  get going  i32.and  tee last  i32.or  set mask
get two  ${before('two', 1)}  i32.or
get third  i32.or  ${before('third', 1)}  i32.or  ${before('third', 2)}  i32.or
get last  i32.or  ${before('last', 1)}  i32.or  ${before('last', 2)}  i32.or  ${before('last', 3)}  i32.or
${not}  set last
get dropped  get mask  get last  i32.and  i32.or  set dropped
get high  get mask  ${not}  i32.and  get last  i32.and  set replaced
(U+0080 to U+009F are control characters)
${behind(is(0xc2))}  get going  i32.and  get bit5  ${not}  i32.and  set c1
${
  isBinary
    ? `get dropped  get c1  i32.or  ${before('c1', 1)}  i32.or  set dropped`
    : `get stops  ${before('c1', 1)}  i32.or  set stops
end
get replaced  get going  i32.and
if
  (what begins a sequence or a string in 8 bits)
  ${is(0x90)}  ${is(0x98)}  i32.or  ${is(0x9b)}  i32.or  ${within(0x9d, 3)}  i32.or
  get replaced  i32.and  get stops  i32.or  set stops
end
(not behind the last one that may be replaced)
get invalid  i32.const 33  i32.lt_u
if
  get stops  get replaced  i32.or  set stops
end`
}`

/** In text that is UTF-8 throughout. */
const validCharacters = `
get stops
${is(0xc2)}  ${within(0x80, 32)}  i32.const 1  i32.shr_u  i32.and  i32.or  set stops`

/** Adds to a number in memory: one more local would be one register less. */
export const countBy = (count: string, place: number) =>
  `i32.const 0  ${count}  i32.const 0  i32.load ${place}  i32.add  i32.store ${place}`

/** Where the last line begins, and whether one byte is one column in it. */
const lines = (count: string) => `
get newlines  get kept  i32.and  set newlines
${is(9)}  get high  i32.or  get mask  i32.and  get dropped  ${not}  i32.and  set high
get newlines
if
  ${count}
  (the bytes up to the last newline)
  i32.const 2  i32.const 31  get newlines  i32.clz  i32.sub  i32.shl  i32.const 1  i32.sub  set next
  get out
  get kept  get next  i32.and  i32.popcnt  i32.add
  get replaced  get next  i32.and  i32.popcnt  i32.const 3  i32.mul  i32.add  set line
  get high  get next  ${not}  i32.and  set high
  i32.const 0  set uneven
end
get high
if
  i32.const 1  set uneven
end`

const shiftBy = (bytes: number) =>
  bytes < 0 ? `i32.const ${-bytes}  i32.shl` : bytes > 0 ? `i32.const ${bytes}  i32.shr_u` : ''

const closeGaps = (table: number) =>
  [0, 8, 16, 24]
    .map(
      (from) => `
get out
get at  v128.load64_zero ${from}
get kept  ${shiftBy(from)}  i32.const 255  i32.and  tee next
i32.const 3  i32.shl  v128.load64_zero ${table}
i8x16.swizzle  v128.store 0
get out  get next  i32.popcnt  i32.add  set out`,
    )
    .join('')

const fillIn = (table: number) =>
  [0, 4, 8, 12, 16, 20, 24, 28]
    .map(
      (from) => `
get out
get at  v128.load32_zero ${from}  get filler  v128.or
get kept  ${shiftBy(from - 4)}  i32.const 0xf0  i32.and
get replaced  ${shiftBy(from - 8)}  i32.const 0xf00  i32.and  i32.or  tee next
v128.load ${table + replacedFrom}
i8x16.swizzle  v128.store 0
get out  get next  i32.load8_u ${table + replacedFrom + lengthAt}  i32.add  set out`,
    )
    .join('')

/** Where U+FFFD stands in place of few bytes, and nothing is dropped: what is between them in whole pieces. */
const copyBetween = `
get out  get at  get next  i32.add  v128.load 0  v128.store 0
get out  get at  get next  i32.add  v128.load 16  v128.store 16`
const fillInFew = `
get replaced  set last
i32.const 0  set next
loop
  ${copyBetween}
  get out  get last  i32.ctz  tee third  get next  i32.sub  i32.add  tee out
  i32.const ${replacement}  i32.store 0
  get out  i32.const 3  i32.add  set out
  get third  i32.const 1  i32.add  set next
  get last  get last  i32.const 1  i32.sub  i32.and  tee last  br_if 0
end
${copyBetween}
get out  get length  get next  i32.sub  i32.add  set out`

const fillInText = (table: number) => `
get kept  get replaced  i32.or  get mask  i32.eq
get replaced  i32.popcnt  i32.const ${few}  i32.lt_u  i32.and
if
  ${fillInFew}
else
  ${fillIn(table)}
end`

/** The step. Leaves in `length` how many bytes it has read: to the first that it cannot do. */
export const block = (table: number, newlinesAt: number, isBinary: boolean) => `
get at  v128.load 0  set v  get at  v128.load 16  set w
(neither newline nor tab)
${bits(
  (vector) => `
  get ${vector}  splat 31  i8x16.le_u  get ${vector}  splat 9  i8x16.sub  splat 1  i8x16.le_u  v128.andnot
  get ${vector}  splat 127  i8x16.eq  v128.or`,
)}  set stops
${bits((vector) => `get ${vector}`)}  set high
${isBinary ? '' : `${is(10)}  set newlines`}
i32.const 0  set dropped  i32.const 0  set replaced
get stops
if
  ${isBinary ? binaryControls : textControls}
end
get high
if
  ${within(0x80, 64)}  set going
  (a character that may go on behind these bytes is read with them)
  get at  i32.load8_u ${blockBytes}  i32.const 0xc0  i32.and  i32.const 0x80  i32.eq
  if
    get going  ${not}  tee mask
    i32.const 0x80000000  get mask  i32.clz  i32.shr_u  i32.and
    get high  i32.and  get stops  i32.or  set stops
  end
  ${
    isBinary
      ? characters(true)
      : `get valid  if ${validCharacters}  else ${characters(false)}
  end`
  }
end
(the bytes before the first stop)
get stops  ${not}  get stops  i32.const 1  i32.sub  i32.and  set mask
get stops  i32.ctz  set length
get replaced  get mask  i32.and  set replaced
get dropped  get replaced  i32.or  ${not}  get mask  i32.and  set kept
${isBinary ? '' : lines(countBy('get newlines  i32.popcnt', newlinesAt))}
get kept  get mask  i32.eq
if
  get out  get v  v128.store 0
  get out  get w  v128.store 16
  get out  get length  i32.add  set out
else
  get replaced
  if
    ${isBinary ? fillIn(table) : fillInText(table)}
    ${isBinary ? '' : 'get invalid  get replaced  i32.popcnt  i32.sub  set invalid'}
  else
    ${closeGaps(table)}
  end
end
get at  get length  i32.add  set at
${isBinary ? '' : 'get out  tee end  set safeOut  get at  set safeAt'}`
