import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createSandboxFilter } from '../../../lib/run/sandbox/sandbox-filter.ts'

const allowed = 0x7fff0000
const EPERM = 0x00050001
const ENOSYS = 0x00050026
const EAFNOSUPPORT = 0x00050061

const x64 = {
  ...{ name: 'x64', audit: 0xc000003e, socket: 41, ioctl: 16, keyctl: 250, write: 1 },
  ...{ chmod: { 90: 1, 91: 1, 268: 2, 452: 2 }, creat: { 85: 1, 133: 1, 259: 2 } },
  ...{ open: { 2: 1, 257: 2 }, namespace: [272, 56] },
}
const arm64 = {
  ...{ name: 'arm64', audit: 0xc00000b7, socket: 198, ioctl: 29, keyctl: 219, write: 64 },
  ...{ chmod: { 52: 1, 53: 2, 452: 2 }, creat: { 33: 2 }, open: { 56: 2 }, namespace: [97, 220] },
}
const list = (calls: Record<number, number>) =>
  Object.entries(calls).map(([call, at]): [number, number] => [Number(call), at])

/** What the kernel would answer: the machine of linux/filter.h, as far as the program uses it. */
function evaluate(program: Uint8Array, audit: number, call: number, args: bigint[] = []): number {
  const data = new DataView(new ArrayBuffer(64))
  data.setUint32(0, call, true)
  data.setUint32(4, audit, true)
  for (const [index, value] of args.entries()) data.setBigUint64(16 + index * 8, value, true)
  const code = new DataView(program.buffer)
  let accumulator = 0
  for (let at = 0; at < program.length; at += 8) {
    const value = code.getUint32(at + 4, true)
    const jump = (holds: boolean) => code.getUint8(at + (holds ? 2 : 3)) * 8
    switch (code.getUint16(at, true)) {
      case 0x20:
        accumulator = data.getUint32(value, true)
        break
      case 0x15:
        at += jump(accumulator === value)
        break
      case 0x35:
        at += jump(accumulator >= value)
        break
      case 0x45:
        at += jump((accumulator & value) !== 0)
        break
      case 0x06:
        return value
      default:
        throw new Error(`unknown instruction at ${at}`)
    }
  }
  throw new Error('the program runs out of its end')
}

for (const system of [x64, arm64]) {
  const program = createSandboxFilter(system.name) ?? new Uint8Array()
  const run = (call: number, ...args: (number | bigint)[]) =>
    evaluate(program, system.audit, call, args.map(BigInt))

  test(`${system.name}: sockets of this machine and the internet, and the list of interfaces`, () => {
    for (const family of [1, 2, 10]) assert.is(run(system.socket, family, 1, 0), allowed)
    assert.is(run(system.socket, 16, 3, 0), allowed)
    for (const protocol of [1, 9, 15, 16]) {
      assert.is(run(system.socket, 16, 3, protocol), EAFNOSUPPORT)
    }
    for (const family of [0, 3, 15, 17, 29, 31, 38, 40, 44, 45]) {
      assert.is(run(system.socket, family, 1, 0), EAFNOSUPPORT)
    }
  })

  test(`${system.name}: nothing types into a terminal, whatever the upper half says`, () => {
    for (const request of [0x5412n, 0x541cn, 0x100005412n, 0xffffffff00005412n]) {
      assert.is(run(system.ioctl, 0, request), EPERM)
    }
    for (const request of [0x5401, 0x5413, 0x540f, 0x541b]) {
      assert.is(run(system.ioctl, 0, request), allowed)
    }
  })

  test(`${system.name}: no file gets the mode of its owner, and only a folder that of its group`, () => {
    const give = (mode: bigint, at: number, flags = 0n) =>
      [0, 1, 2, 3, 4, 5].map((index) => (index === at ? mode : index === at - 1 ? flags : 0n))
    for (const [call, at] of list(system.chmod)) {
      for (const mode of [0o4755n, 0o6000n, 0xffffffff00000800n]) {
        assert.is(run(call, ...give(mode, at)), EPERM)
      }
      for (const mode of [0o755n, 0o2775n, 0o1777n])
        assert.is(run(call, ...give(mode, at)), allowed)
    }
    for (const [call, at] of list(system.creat)) {
      for (const mode of [0o4755n, 0o2755n]) assert.is(run(call, ...give(mode, at)), EPERM)
      assert.is(run(call, ...give(0o1777n, at)), allowed)
    }
    for (const [call, flagsAt] of list(system.open)) {
      const at = flagsAt + 1
      for (const flags of [0o100n, 0o20200000n, 0o20240000n]) {
        for (const mode of [0o4755n, 0o2755n]) {
          assert.is(run(call, ...give(mode, at, flags)), EPERM)
        }
        assert.is(run(call, ...give(0o644n, at, flags)), allowed)
      }
      assert.is(run(call, ...give(0o6755n, at, 0o200000n)), allowed, 'it makes no file')
    }
    assert.is(run(437), ENOSYS)
  })

  test(`${system.name}: no namespace of control groups is made, and any other is`, () => {
    for (const call of system.namespace) {
      for (const flags of [0x02000000n, 0x12000011n]) assert.is(run(call, flags), EPERM)
      assert.is(run(call, 0x10020011n), allowed)
    }
    assert.is(run(435), ENOSYS)
  })

  test(`${system.name}: keyrings, rings and foreign calls are refused, the rest is not`, () => {
    assert.is(run(system.keyctl), EPERM)
    assert.is(run(425), ENOSYS)
    assert.is(run(0x40000000 + system.socket, 1), ENOSYS)
    assert.is(evaluate(program, 0x40000003, 1), ENOSYS)
    assert.is(run(system.write), allowed)
    const special = [
      system.socket,
      system.ioctl,
      system.keyctl,
      system.keyctl - 1,
      system.keyctl - 2,
      425,
      435,
      437,
    ]
    for (let call = 0; call < 480; call++) {
      if (!special.includes(call)) assert.is(run(call), allowed)
    }
  })
}

test('there is no filter for a system whose calls are not known', () => {
  assert.is(createSandboxFilter('s390x'), null)
})

test.run()
