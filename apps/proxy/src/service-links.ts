/** Ignores the environment variables that Kubernetes sets for a service with this program's name. */
import { envName, type FlagSources } from '@privatemode/service'
import { program } from './flag-table.ts'

/** The port variable then holds an address such as `tcp://10.0.0.1:8080`, which is not our setting. */
export function withoutServiceLinks(env: FlagSources['env']): FlagSources['env'] {
  const variable = envName(program.envPrefix, 'port')
  const isLink = /^(?:tcp|udp|sctp):\/\//.test(env[variable] ?? '')
  return isLink ? { ...env, [variable]: undefined } : env
}
