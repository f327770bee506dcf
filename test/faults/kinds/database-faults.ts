/** PostgreSQL dies, is restarted, or hangs. */
import type { Fault } from '../fault.ts'

export const databaseFaults: readonly Fault[] = [
  {
    name: 'kill -9 PostgreSQL',
    family: 'process',
    holdMs: 3_000,
    limitMs: 30_000,
    async inject({ fleet }) {
      await fleet.postgres.kill()
      return () => fleet.postgres.start()
    },
  },
  {
    name: 'restart PostgreSQL',
    family: 'process',
    holdMs: 500,
    limitMs: 30_000,
    async inject({ fleet }) {
      fleet.postgres.signal('SIGINT')
      return () => fleet.postgres.start()
    },
  },
  {
    name: 'PostgreSQL away for longer than a lease',
    family: 'process',
    holdMs: 10_000,
    limitMs: 30_000,
    async inject({ fleet }) {
      await fleet.postgres.kill()
      return () => fleet.postgres.start()
    },
  },
  {
    name: 'pause PostgreSQL for 4 s',
    family: 'process',
    holdMs: 4_000,
    limitMs: 30_000,
    async inject({ fleet }) {
      fleet.postgres.signal('SIGSTOP')
      return () => fleet.postgres.signal('SIGCONT')
    },
  },
]
