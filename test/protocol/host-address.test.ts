import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseHostAddress } from '../../lib/protocol/request/host-address.ts'

test('an address of each kind is read', () => {
  const ssh = (destination: string, port: number | null) => ({ kind: 'ssh', destination, port })
  assert.equal(parseHostAddress('box'), ssh('box', null))
  assert.equal(parseHostAddress('ssh://me@box:2222'), ssh('me@box', 2222))
  assert.equal(parseHostAddress('ssh://me@[::1]:22'), ssh('me@::1', 22))
  assert.equal(parseHostAddress('docker://web'), { kind: 'docker', container: 'web' })
  assert.equal(parseHostAddress('podman://web'), { kind: 'podman', container: 'web' })
  const pod = { kind: 'kubectl', namespace: null, pod: 'web', container: null }
  assert.equal(parseHostAddress('kubectl://web'), pod)
  const whole = { kind: 'kubectl', namespace: 'ns', pod: 'web', container: 'app' }
  assert.equal(parseHostAddress('kubectl://ns/web/app'), whole)
})

for (const text of [
  '',
  '-oProxyCommand=evil',
  'ssh://-oProxyCommand=evil',
  'ssh://me@-evil',
  'ssh://box:70000',
  'docker://--privileged',
  'docker://a/b',
  'kubectl://a/b/c/d',
  'kubectl://a//b',
  'ftp://box',
  'ssh://a b',
]) {
  test(`no address, and no option of a client: ${JSON.stringify(text)}`, () => {
    assert.throws(() => parseHostAddress(text), /`host` must be/)
  })
}

test.run()
