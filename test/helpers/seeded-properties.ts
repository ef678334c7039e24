import { configureGlobal } from 'fast-check'

/*
 * What the tests import as `fast-check` (runner/bundle.js): one run of them is like the other. A failure tells
 * its seed and its path; `NACRE_TEST_SEED=<integer> npm test` tries other values.
 */
export * from 'fast-check'
export { default } from 'fast-check'

configureGlobal({ seed: Number(process.env['NACRE_TEST_SEED'] ?? 1) })
