import { testOwnShell } from '../helpers/own-shell-suite.ts'

testOwnShell('bash')
