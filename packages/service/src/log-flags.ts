/** The logging flags, shared by all services. */
import type { FlagTable } from './program.ts'

export const logFlags = {
  logFormat: {
    type: 'string',
    default: 'text',
    choices: ['text', 'json'],
    help: 'log format',
    group: 'Watching',
  },
  logLevel: {
    type: 'string',
    default: 'info',
    help: 'minimum level to log',
    group: 'Watching',
  },
} as const satisfies FlagTable
