/** The flags of the log, the same for every service. */
import type { FlagTable } from './program.ts'

export const logFlags = {
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    help: 'format of the log',
    group: 'Watching',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    help: 'lowest level that is logged',
    group: 'Watching',
  },
} as const satisfies FlagTable
