/**
 * Takes what a start never reads out of what a file makes as soon as it is loaded: functions, and values whose
 * making nobody notices (classes, tables). They are made together when the first of them is read; at each start
 * of `-c true` they were 1.6 of 31 million instructions and a hundred pages of memory.
 */
import { parseSync } from 'oxc-parser'

/** @typedef {import('oxc-parser').Program} Program */

/**
 * A part of a syntax tree, whatever it is.
 *
 * @typedef {Record<string, any> & { type: string, start: number, end: number }} Node
 */

/**
 * Something at the top of a file that can be made late.
 *
 * @typedef {object} Part
 * @property {boolean} isFunction a declaration, else one of the variables of a statement
 * @property {number} start of what makes it: the declaration, or what stands after the variable's name
 * @property {number} end
 * @property {string[]} needs names that are read as soon as it is made
 */

/**
 * A place where a name is read.
 *
 * @typedef {object} Read
 * @property {string} name
 * @property {number} start
 * @property {number} end
 * @property {boolean} isShorthand as in `{ name }`
 * @property {boolean} isAtOnce not in a function
 */

/**
 * @typedef {object} Layout
 * @property {string} file
 * @property {string} text
 * @property {Map<string, Part>} parts by name
 * @property {Read[]} reads
 * @property {ReadonlySet<string>} bound every name that the text binds
 */

/** The names that a text must not have itself. */
const makeLate = 'makeLate'
export const noteRead = 'noteRead'

/**
 * @param {string} file its name
 * @param {string} text a script as esbuild writes it
 * @returns {Layout}
 */
export function findParts(file, text) {
  const { program, errors } = parseSync(file, text, {
    sourceType: 'script',
    preserveParens: false,
  })
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  if (text.includes(makeLate) || text.includes(noteRead))
    throw new Error(`${file}: a name is taken`)
  const { reads, bound, spoiled } = readNames(program)
  /** @type {Map<string, Part>} */
  const parts = new Map()
  for (const node of /** @type {Node[]} */ (program.body)) {
    if (node.type === 'FunctionDeclaration' && !spoiled.has(node['id'].name)) {
      const { start, end } = node
      parts.set(node['id'].name, { isFunction: true, start, end, needs: [] })
    }
    if (node.type !== 'VariableDeclaration' || node['kind'] !== 'var') continue
    for (const { id, init, end } of node['declarations']) {
      if (id.type !== 'Identifier' || spoiled.has(id.name) || !isUnnoticed(init)) continue
      const { end: start } = id
      const needs = reads.filter((read) => read.isAtOnce && isWithin(read, { start, end }))
      parts.set(id.name, { isFunction: false, start, end, needs: needs.map(({ name }) => name) })
    }
  }
  return { file, text, parts, reads, bound }
}

/**
 * The text, which calls `noteRead` of the global object with the file and the name of each part that is read.
 *
 * @param {Layout} layout
 */
export function noteReads({ file, text, parts, reads }) {
  const values = [...parts.values()].filter((part) => !part.isFunction)
  const isNoted = (/** @type {Read} */ read) =>
    parts.has(read.name) && !(read.isAtOnce && values.some((part) => isWithin(read, part)))
  const note = (/** @type {Read} */ read) =>
    readThrough(read, `${noteRead}("${file} ${read.name}")`)
  return edit(text, reads.filter(isNoted).map(note))
}

/**
 * The text, in which the parts that were not read are made late.
 *
 * @param {Layout} layout
 * @param {ReadonlySet<string>} used names that were read
 */
export function takeOut({ text, parts, reads, bound }, used) {
  const late = new Map([...parts].filter(([name]) => !used.has(name)))
  const isThere = (/** @type {string} */ name) =>
    late.has(name) || parts.get(name)?.isFunction === true || !bound.has(name)
  // What a part that is made at once needs is made at once; what needs such a value, too, since that
  // may not be there yet when it is made.
  for (let before = -1; before !== late.size;) {
    before = late.size
    for (const [name, part] of parts) {
      if (!late.has(name)) for (const needed of part.needs) late.delete(needed)
      else if (!part.needs.every(isThere)) late.delete(name)
    }
  }
  if (late.size === 0) return text
  const ranges = [...late.values()]
  const made = [...late].map(([name, { isFunction, start, end }]) => {
    const source = text.slice(start, end)
    return isFunction ? `${name}=${source}` : `${name}${source}`
  })
  const functions = [...late].filter(([, part]) => part.isFunction).map(([name]) => name)
  const outside = reads.filter(
    (read) => late.has(read.name) && !ranges.some((range) => isWithin(read, range)),
  )
  const changed = edit(text, [
    ...ranges.map(({ start, end }) => ({ start, end, by: '' })),
    ...outside.map((read) => readThrough(read, `${makeLate}&&${makeLate}()`)),
  ])
  const declared = functions.length === 0 ? '' : `var ${functions.join(',')};`
  // The functions first: a value may have them in it.
  const order = [...made.keys()].sort(
    (a, b) => Number(ranges[b]?.isFunction) - Number(ranges[a]?.isFunction) || a - b,
  )
  const body = order.map((index) => `${made[index]};`).join('')
  return `${changed}\n;${declared}function ${makeLate}(){${body}${makeLate}=null}`
}

/**
 * @param {Read} read
 * @param {string} first what is evaluated before
 */
function readThrough({ name, start, end, isShorthand }, first) {
  return { start, end, by: `${isShorthand ? `${name}:` : ''}(${first},${name})` }
}

/**
 * @param {string} text
 * @param {{ start: number, end: number, by: string }[]} changes none in another
 */
function edit(text, changes) {
  let at = 0
  let edited = ''
  for (const { start, end, by } of changes.sort((a, b) => a.start - b.start)) {
    edited += text.slice(at, start) + by
    at = end
  }
  return edited + text.slice(at)
}

/**
 * @param {{ start: number, end: number }} inner
 * @param {{ start: number, end: number }} outer
 */
function isWithin(inner, outer) {
  return inner.start >= outer.start && inner.end <= outer.end
}

const madeUnnoticed = new Set(['Map', 'Set', 'WeakMap', 'WeakSet'])

/**
 * Whether nobody notices when a value is made: it runs nothing, and is the same whenever it is made.
 *
 * @param {Node | null} node
 * @returns {boolean}
 */
function isUnnoticed(node) {
  switch (node?.type) {
    case 'Literal':
    case 'Identifier':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return true
    case 'TemplateLiteral':
      return node['expressions'].length === 0
    case 'UnaryExpression':
      return node['operator'] !== 'delete' && node['argument'].type === 'Literal'
    case 'ArrayExpression':
      return node['elements'].every(isUnnoticed)
    case 'ObjectExpression':
      return node['properties'].every(
        (/** @type {Node} */ each) =>
          each.type === 'Property' && !each['computed'] && isUnnoticed(each['value']),
      )
    case 'NewExpression':
      return madeUnnoticed.has(node['callee'].name) && node['arguments'].every(isUnnoticed)
    case 'ClassExpression':
      return (
        [null, 'Identifier'].includes(node['superClass']?.type ?? null) &&
        node['body'].body.every(
          (/** @type {Node} */ each) =>
            !each['computed'] &&
            (each.type === 'MethodDefinition' ||
              (each.type === 'PropertyDefinition' && !each['static'])),
        )
      )
    default:
      return false
  }
}

/**
 * @param {Program} program
 * @returns {{ reads: Read[], bound: Set<string>, spoiled: Set<string> }} `spoiled`: names that are also
 *   written, or bound a second time
 */
function readNames(program) {
  /** @type {Read[]} */
  const reads = []
  const spoiled = new Set()
  const bound = new Set()
  let depth = 0

  /** @param {Node | null | undefined} node */
  function visit(node) {
    if (!node) return
    switch (node.type) {
      case 'Identifier':
        read(node, false)
        return
      case 'MemberExpression':
        visit(node['object'])
        if (node['computed']) visit(node['property'])
        return
      case 'Property':
        if (node['computed']) visit(node['key'])
        if (node['shorthand']) read(node['value'], true)
        else visit(node['value'])
        return
      case 'MethodDefinition':
      case 'PropertyDefinition':
        if (node['computed']) visit(node['key'])
        // The value of a field is made with each object.
        if (!node['static']) depth++
        visit(node['value'])
        if (!node['static']) depth--
        return
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        bind(node['id'])
        depth++
        node['params'].forEach(bind)
        visit(node['body'])
        depth--
        return
      case 'ClassDeclaration':
      case 'ClassExpression':
        bind(node['id'])
        visit(node['superClass'])
        visit(node['body'])
        return
      case 'VariableDeclarator':
        bind(node['id'])
        visit(node['init'])
        return
      case 'CatchClause':
        bind(node['param'])
        visit(node['body'])
        return
      case 'AssignmentExpression':
        write(node['left'])
        visit(node['right'])
        return
      case 'UpdateExpression':
        write(node['argument'])
        return
      case 'ForInStatement':
      case 'ForOfStatement':
        if (node['left'].type === 'VariableDeclaration') visit(node['left'])
        else write(node['left'])
        visit(node['right'])
        visit(node['body'])
        return
      case 'LabeledStatement':
        visit(node['body'])
        return
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'MetaProperty':
        return
      default:
        visitChildren(node)
    }
  }

  /** @param {Node} node */
  function visitChildren(node) {
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) value.forEach((each) => visit(each))
      else if (typeof value?.type === 'string') visit(value)
    }
  }

  /**
   * @param {Node} node
   * @param {boolean} isShorthand
   */
  function read({ name, start, end }, isShorthand) {
    reads.push({ name, start, end, isShorthand, isAtOnce: depth === 0 })
  }

  /** @param {Node | null | undefined} pattern */
  function bind(pattern) {
    eachTarget(pattern, ({ name }) => {
      if (bound.has(name)) spoiled.add(name)
      bound.add(name)
    })
  }

  /** @param {Node} pattern */
  function write(pattern) {
    eachTarget(pattern, (target) => {
      if (target.type === 'Identifier') spoiled.add(target['name'])
      else visit(target)
    })
  }

  /**
   * @param {Node | null | undefined} pattern
   * @param {(target: Node) => void} use
   */
  function eachTarget(pattern, use) {
    if (!pattern) return
    switch (pattern.type) {
      case 'ObjectPattern':
        for (const property of pattern['properties']) {
          if (property.computed) visit(property.key)
          eachTarget(property.type === 'RestElement' ? property : property.value, use)
        }
        return
      case 'ArrayPattern':
        for (const element of pattern['elements']) eachTarget(element, use)
        return
      case 'RestElement':
        eachTarget(pattern['argument'], use)
        return
      case 'AssignmentPattern':
        eachTarget(pattern['left'], use)
        visit(pattern['right'])
        return
      default:
        use(pattern)
    }
  }

  visit(/** @type {any} */ (program))
  return { reads, bound, spoiled }
}
