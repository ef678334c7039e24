export {
  createExecutor,
  type Executor,
  type ExecutorOptions,
  type RunOptions,
} from './executor/executor.ts'
