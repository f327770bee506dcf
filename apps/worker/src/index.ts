/** The worker's public exports, for other programs in this repository. */
export { parseSettings, program } from './settings.ts'
export { startWorker, type Worker } from './worker.ts'
