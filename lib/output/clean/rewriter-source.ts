import {
  block,
  blockBytes,
  blockLocals,
  blockVectors,
  countBy,
  loadFiller,
  replacement,
  shuffleTableBytes,
} from './rewriter-block.ts'
import { special, statesPerTable } from './rewriter-table.ts'

/** The largest piece for one call. */
export const inputBytes = 64 * 1024
/** A colour of more bytes takes the common way. */
const maxColourBytes = 64
/** A line is written over up to here; longer ones are past editing. */
const maxLineBytes = 8192

/** The numbers that go in and come out, in their order. */
export const registers = [
  ...['at', 'stop', 'state', 'out', 'end', 'line', 'uneven', 'valid', 'safeAt', 'safeOut'],
  'invalid',
] as const

const newlines = inputBytes + registers.length * 4
const maskBytes = 32
const tableBytes = 2 * statesPerTable * 256 * 4
const masks = newlines + 4
const table = masks + maskBytes
const shuffles = table + tableBytes

/** Input, the registers, the count of newlines, a mask for the first bytes of 16, the table, the shuffles, output. */
export const places = {
  registers: inputBytes,
  newlines,
  masks,
  table,
  shuffles,
  output: shuffles + shuffleTableBytes,
}
/** A byte of input becomes three of output at most, behind a line that is there already. */
export const memoryPages = 6

export const locals = [
  ...[...registers, 'byte', 'entry', 'kind', 'full', ...blockLocals],
  ...blockVectors,
]
export const vectors = blockVectors.length

const load = registers
  .map((name, index) => `i32.const 0  i32.load ${places.registers + index * 4}  set ${name}`)
  .join('\n')
const store = registers
  .map((name, index) => `i32.const 0  get ${name}  i32.store ${places.registers + index * 4}`)
  .join('\n')

/** What is no text: nothing in it moves a cursor, so that each byte needs the table alone. */
const binary = `
block
loop
  get at  get stop  i32.ge_u  br_if 1
  get state  i32.const ${statesPerTable}  i32.eq
  get at  i32.const ${blockBytes}  i32.add  get stop  i32.lt_u  i32.and
  if
    ${block(places.shuffles, newlines, true)}
    (again, but for a sequence or half of a character)
    i32.const 0  get length  get at  i32.load8_u 0  i32.const 27  i32.eq  select  br_if 1
  end
  get at  i32.load8_u 0  tee byte
  i32.const 2  i32.shl  get state  i32.const 10  i32.shl  i32.add  i32.load ${places.table}  set entry
  (the byte, or U+FFFD and the byte, or U+FFFD twice; what stands behind it is written over later)
  get out  get entry  i32.const 8  i32.shr_u  i32.const 3  i32.and  i32.sub  tee out
  i32.const 0  get entry  i32.const 13  i32.shr_u  i32.const 1  i32.and  i32.sub  tee mask
  i32.const ${replacement}  i32.and
  get byte  get mask  i32.const 24  i32.and  i32.shl  i32.or
  i32.store 0
  get entry  i32.const 10  i32.shr_u  i32.const 7  i32.and  tee length
  i32.const 6  i32.eq
  if
    get out  i32.const ${replacement}  i32.store 3
  end
  get out  get length  i32.add  set out
  get entry  i32.const 255  i32.and  set state
  get at  i32.const 1  i32.add  set at
  br 0
end
end`

/** Within a line of one byte in one column each: printable ASCII takes the place of what is there. */
const writeOver = `
get at  v128.load 0  tee v
splat 31  i8x16.le_u  get v  v128.or
get v  splat 127  i8x16.eq  v128.or
i8x16.bitmask  i32.const 65536  i32.or  i32.ctz  tee length
i32.const 16  i32.eq  set full
get out
get v  get out  v128.load 0
i32.const ${places.masks + 16}  get length  i32.sub  v128.load 0
v128.bitselect
v128.store 0
get out  get length  i32.add  tee out  set safeOut
get out  get end  get out  get end  i32.gt_u  select  set end
get at  get length  i32.add  tee at  set safeAt`

/** ESC [ parameters m. Leaves 1 where there is one, and its end in `next`. */
const colour = `
get at  i32.const 2  i32.add  set next
loop
  get next  v128.load 0  splat 0x30  i8x16.sub  splat 11  i8x16.le_u  i8x16.bitmask
  i32.const -1  i32.xor  i32.ctz  tee length
  get next  i32.add  set next
  get length  i32.const 16  i32.eq  get next  get stop  i32.lt_u  i32.and  br_if 0
end
get next  get stop  i32.lt_u
get next  i32.load8_u 0  i32.const 0x6d  i32.eq  i32.and
get next  get at  i32.sub  i32.const ${maxColourBytes}  i32.lt_u  i32.and
get at  i32.load8_u 1  i32.const 0x5b  i32.eq  i32.and`

/**
 * `out` is the cursor and `end` the end of the last line, which began at `line`. What is rolled back to,
 * where it stops in the middle of a character, is `safeAt` and `safeOut`.
 */
const text = `
get at  set safeAt  get out  set safeOut
block
loop
  get at  get stop  i32.ge_u  br_if 1
  get state  i32.eqz
  if
    get at  i32.const ${blockBytes}  i32.add  get stop  i32.lt_u
    if
      get out  get end  i32.eq
      if
        ${block(places.shuffles, newlines, false)}
        get length  br_if 3
      else
        get uneven  i32.eqz
        if
          ${writeOver}
          get full  br_if 4
          (to the start of the line, where no newline follows)
          get at  i32.load8_u 0  i32.const 13  i32.eq
          get at  i32.load8_u 1  i32.const 10  i32.eq  i32.eqz  i32.and
          get end  get line  i32.sub  i32.const ${maxLineBytes + 1}  i32.lt_u  i32.and
          if
            get at  i32.const 1  i32.add  tee at  set safeAt
            get line  tee out  set safeOut
            br 5
          end
        end
      end
    end
    get at  i32.load8_u 0  i32.const 27  i32.eq
    if
      ${colour}
      if
        get next  i32.const 1  i32.add  tee at  set safeAt
        br 3
      end
    end
  end
  get at  i32.load8_u 0  tee byte
  i32.const 2  i32.shl  get state  i32.const 10  i32.shl  i32.add  i32.load ${places.table}  tee entry
  i32.const 16  i32.shr_u  tee kind
  if
    get kind  i32.const ${special.newline}  i32.eq
    if
      (a newline stands behind the line, wherever the cursor is)
      get end  set out
    end
    get kind  i32.const ${special.carriageReturn}  i32.eq
    if
      (nothing where a newline follows, else the line must be even and short)
      get at  i32.const 1  i32.add  get stop  i32.lt_u
      if
        get at  i32.load8_u 1  i32.const 10  i32.eq
        if
          get at  i32.const 1  i32.add  tee at  set safeAt
          br 4
        end
      end
      get uneven  br_if 3
      get end  get line  i32.sub  i32.const ${maxLineBytes}  i32.gt_u  br_if 3
      get line  set out
    end
    get kind  i32.const ${special.uneven}  i32.eq
    if
      get out  get end  i32.lt_u  br_if 3
      i32.const 1  set uneven
    end
    get kind  i32.const ${special.stop}  i32.eq  br_if 2
    get kind  i32.const ${special.invalid}  i32.ge_u
    if
      get out  get end  i32.lt_u  br_if 3
      get out  get entry  i32.const 8  i32.shr_u  i32.const 3  i32.and  i32.sub  tee out
      i32.const ${replacement}  i32.store 0
      get out  i32.const 3  i32.add  tee out  tee end  set safeOut
      i32.const 1  set uneven
      i32.const 0  set state
      get at  get kind  i32.const ${special.invalid}  i32.eq  i32.add  tee at  set safeAt
      get invalid  i32.const 1  i32.sub  tee invalid  i32.eqz  br_if 3
      br 2
    end
  end

  get entry  i32.const 10  i32.shr_u  i32.const 7  i32.and  set length
  (where nothing is written, what stands at the cursor stays)
  get out  get byte  get out  i32.load8_u 0  get length  select  i32.store8 0
  get out  get length  i32.add  set out
  get entry  i32.const 255  i32.and  set state
  get at  i32.const 1  i32.add  set at
  get out  get end  get out  get end  i32.gt_u  select  set end

  get kind  i32.const ${special.newline}  i32.eq
  if
    get out  set end
    get out  set line
    i32.const 0  set uneven
    ${countBy('i32.const 1', newlines)}
  end
  get state  i32.eqz
  if
    get at  set safeAt
    get out  set safeOut
  end
  br 0
end
end`

/** Follows the table over the input, 16 bytes a step where it can. Answers nothing of use. */
export const source = `
${load}
${loadFiller(places.shuffles)}
(0, or the first state of binary data)
get state  i32.const ${statesPerTable}  i32.ge_u
if
  ${binary}
else
  ${text}
end
${store}
i32.const 0
end`
