/** `migrate`: upgrades the database schema and exits, for deployments that migrate before an update. */
import { parseFlags } from '@privatemode/service'
import { program } from '../flags.ts'
import { GatewayError } from '../gateway-error.ts'
import { migrate } from '../state/migrate.ts'
import { openServerDatabase } from '../state/server-database.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Needs only the database: a migration job has no use for the admin token. */
export async function runMigrate(
  args: readonly string[],
  env: Environment,
  print: (text: string) => void,
): Promise<number> {
  const parsed = parseFlags(program, { args, env })
  if (parsed.kind !== 'values') {
    print('privatemode-gateway migrate --databaseUrl URL|@FILE, or DATABASE_URL\n')
    return 0
  }
  const url = parsed.values.databaseUrl?.reveal() ?? env.DATABASE_URL
  if (url === undefined || url === '') {
    throw new GatewayError('settings_contradict', '--databaseUrl is missing')
  }
  const database = await openServerDatabase(url, 2)
  try {
    print(`${JSON.stringify({ schema: await migrate(database) })}\n`)
    return 0
  } finally {
    await database.close()
  }
}
