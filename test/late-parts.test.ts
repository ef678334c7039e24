import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { findParts, noteReads, takeOut } from '../.ci/tools/late-parts.js'

const test = suite('late parts')

/** Each text leaves a `result`; `read`: what of its parts a run of it reads. */
const texts: Readonly<Record<string, { text: string; read: string }>> = {
  'functions, one of which calls another': {
    text: 'var result=b();function a(){return 1}function b(){return 2}function c(){return a()}',
    read: 'b',
  },
  'a function that is read where it stands for a value': {
    text: 'function a(){return 1}var all={a},{a:first}=all,result=[first].map((f)=>f());',
    read: 'all',
  },
  'a getter that is read later': {
    text: 'var out={get a(){return a},get b(){return b}};function a(){}var b=[1];var result=out.b;',
    read: 'out b',
  },
  'a name that an inner scope has too': {
    text: 'function a(){return 1}function b(a){return a}var result=b(3);',
    read: 'b',
  },
  'a variable and a function that are written': {
    text: 'var n=1;function f(){return f=()=>2,1}var result=[n++,n,f(),f()];for(n of[7]);result.push(n);',
    read: '',
  },
  'values of other values': {
    text: 'var a=[1],b=[a],made=Date.now()>0?[2]:[],late=[made],c=new Map([[f,late]]);function f(){return b}var result=f();',
    read: 'f b',
  },
  'a class that extends one made at once': {
    text: 'class A{}var base=class extends A{},B=class extends base{#n=1;static of(){return new B}get n(){return this.#n}},result=[new base instanceof A,B.of().n,base.name];',
    read: 'base B',
  },
  'a class that is noticed when it is made': {
    text: 'var seen=[];var A=class{static n=seen.push(1)},B=class{[seen.push(2)](){}},C=class{static{seen.push(3)}};var result=seen;',
    read: 'seen',
  },
  'names beside members, labels and keys of the same name': {
    text: 'function a(){return 1}var o={a:2,b(){return this.a}};a:for(;;)break a;var result=[o.a,o.b(),`${o["a"]}`];',
    read: 'o',
  },
  'defaults of parameters and patterns': {
    text: 'var d={x:5};function f({x=g(),y:[z]=[d.x]}={}){return[x,z]}function g(){return 4}var result=f();',
    read: 'f g d',
  },
  'async functions and generators': {
    text: 'async function a(){}function*b(){yield 1}var result=[...b()];',
    read: 'b',
  },
}

for (const [what, { text, read }] of Object.entries(texts)) {
  test(`what is made late does what it did: ${what}`, () => {
    const layout = findParts('a.js', text)
    const expected = run(text)
    const noted = new Set<string>()
    const noteRead = (name: string) => noted.add(name.replace('a.js ', ''))
    assert.equal(run(noteReads(layout), { noteRead }), expected)
    assert.equal([...noted].sort(), read.split(' ').filter(Boolean).sort())
    assert.equal(run(takeOut(layout, noted)), expected)
    assert.equal(run(takeOut(layout, new Set())), expected)
  })
}

test('what is read in short uses is made at once, and nothing of the rest for it', () => {
  const layout = findParts('a.js', 'var result=b();function a(){}function b(){return 2}')
  const isMade = (used: string[]) => run(`${takeOut(layout, new Set(used))};result=makeLate===null`)
  assert.equal(isMade(['b']), 'false')
  assert.equal(isMade(['a']), 'true')
})

/** The `result` of a script, as JSON: what another realm has made equals nothing of this one. */
function run(text: string, globals: object = {}): string {
  return runInNewContext(`${text};JSON.stringify(result)`, { ...globals }) as string
}

test.run()
