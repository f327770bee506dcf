/** What other programs of this machine may know of a worker. */
export { parseSettings } from './settings.ts'
export { startWorker, type Worker } from './worker.ts'
