import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { JobEntry } from '../../lib/protocol/result/reading.ts'
import type { Result } from '../../lib/protocol/result/result.ts'
import { describeTrouble, formatDuration, renderJson } from '../../lib/render/messages.ts'
import { renderForModel } from '../../lib/render/model.ts'
import { renderJobTable, renderVerdict } from '../../lib/render/tables.ts'

const exited: Result = {
  id: 'run_a',
  origin: 'agent',
  command: 'make',
  cwd: '/work',
  status: 'exited',
  exitCode: 0,
  signal: null,
  reason: null,
  exitMeaning: null,
  pipeStatus: null,
  waitingForInput: null,
  survivors: [],
  host: null,
  durationMs: 12.4,
  truncation: null,
  artifact: null,
  jobId: null,
  error: null,
  verdict: null,
  usage: null,
  notices: [],
  output: '',
}

test('a result on a wire is one line, in names of the wire', () => {
  const line = renderJson({ ...exited, output: 'a\nb' })
  assert.is(line.indexOf('\n'), line.length - 1)
  const { exit_code: code, duration_ms: ms, output } = JSON.parse(line) as Record<string, unknown>
  assert.equal([code, ms, output], [0, 12.4, 'a\nb'])
})

test('a model reads the output, then how the command ended, and never nothing', () => {
  assert.match(renderForModel(exited), /^\(no output\)\n/)
  const failed = renderForModel({
    ...exited,
    output: 'oops\n',
    exitCode: 1,
    exitMeaning: 'no match',
  })
  assert.is(failed, 'oops\n[exit status 1 (no match)]')
})

test('a model reads what was cut and where all of it is', () => {
  const text = renderForModel({
    ...exited,
    output: 'end',
    truncation: {
      direction: 'tail',
      truncatedBy: 'lines',
      totalLines: 9,
      totalBytes: 40,
      outputLines: 1,
      outputBytes: 3,
      shownRanges: [[9, 9]],
    },
    artifact: { id: 'art_x', uri: 'artifact://art_x', path: '/kept/x', bytes: 40, complete: true },
  })
  assert.match(text, /9 of 9/)
  assert.match(text, '/kept/x')
  assert.match(text, 'art_x')
})

test('each way of not ending by itself is told in words', () => {
  const error = { code: 'cwd_not_found', message: 'Working directory does not exist: /x' }
  assert.equal(describeTrouble({ ...exited, status: 'not_started', error }), [error.message])
  const [stopped = ''] = describeTrouble({
    ...exited,
    status: 'stopped',
    reason: 'timeout',
    limitSeconds: 5,
  })
  assert.match(stopped, /^Timed out: .*5\.0 s/)
  assert.equal(describeTrouble(exited), [])
})

test('a table of jobs never passes the width, and holds nothing that a terminal would act on', () => {
  const job: JobEntry = {
    ...{ id: 'run_a', jobId: 'run_a', status: 'running', exitCode: null, signal: null },
    ...{ reason: null, command: `echo \u001b[31m\nlong ${'x'.repeat(200)}`, cwd: '/' },
    ...{ durationMs: 3_000, error: null, artifact: null, origin: 'print', pid: 7, pty: false },
    ...{ ownerPid: 8, ownerAlive: true, startedAt: '2026-01-01T00:00:00Z', endedAt: null },
  }
  const lines = renderJobTable([job], 60).trimEnd().split('\n')
  assert.is(lines.length, 2)
  for (const line of lines) assert.ok(line.length <= 60, line)
  assert.not.match(lines.join(''), '\u001b')
})

test('a verdict says the rule, what matched and what to do instead', () => {
  const text = renderVerdict({
    decision: 'redirect',
    rule: 'suggest-tool',
    reason: 'suggest-tool: read files with it',
    matched: 'cat x',
    suggestedTool: 'read',
  })
  for (const words of ['redirect', 'suggest-tool', 'cat x', '`read`']) assert.match(text, words)
})

test('times are told as people read them', () => {
  assert.equal([234, 2100, 185_000].map(formatDuration), ['234 ms', '2.1 s', '3 min 5 s'])
})

test.run()
