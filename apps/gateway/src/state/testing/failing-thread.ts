/** Takes the place of the embedded database's thread: it opens, and fails at the first question. */
import { parentPort } from 'node:worker_threads'
import type { Reply } from '../embedded-messages.ts'

parentPort?.on('message', () => {
  throw new Error('the memory of the thread is exhausted')
})
parentPort?.postMessage({ kind: 'opened' } satisfies Reply)
