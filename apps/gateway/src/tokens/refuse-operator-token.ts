/** Refuses the former all-purpose operator token, and names its replacements. */
import type { FlagSources } from '@privatemode/service'
import { GatewayError } from '../gateway-error.ts'

export function refuseOperatorToken({ args, env }: FlagSources): void {
  const isGiven =
    args.some((arg) => /^--operatorToken(=|$)/.test(arg)) ||
    env.PRIVATEMODE_GATEWAY_OPERATOR_TOKEN !== undefined
  if (!isGiven) return
  throw new GatewayError(
    'settings_contradict',
    'operatorToken was split: set --adminToken for the admin API and --registerToken for workers, which must differ; ' +
      'the old token can stay as the register token',
  )
}
