/** Commands for a shell: they speak to the admin API of a running gateway. */
import { type FlagTable, formatHelp, type Program, parseFlags, Secret } from '@privatemode/service'
import { GatewayError } from '../gateway-error.ts'

type Environment = Readonly<Record<string, string | undefined>>

const flags = {
  gateway: { type: 'string', default: 'http://127.0.0.1:8090', help: 'address of the gateway' },
  operatorToken: { type: 'secret', help: 'operator token, or @path of a file that has it' },
  name: { type: 'string', help: 'name of a new key' },
  account: { type: 'string', help: 'account of the keys' },
  expiresAt: { type: 'string', help: 'time at which a new key ends' },
  id: { type: 'string', help: 'id of the key to rotate or revoke' },
  overlapSeconds: { type: 'integer', help: 'how long the old secret works after a rotation' },
} as const satisfies FlagTable

const program: Program<typeof flags> = {
  name: 'privatemode-gateway keys create|list|rotate|revoke',
  summary: 'administers the API keys of a running gateway; answers are JSON',
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_GATEWAY_',
  flags,
}

/** Runs one command; the exit code is 0 when the gateway did what was asked. */
export async function runCommand(
  args: readonly string[],
  env: Environment,
  print: (text: string) => void,
): Promise<number> {
  const [subject, action, ...rest] = args
  const parsed = parseFlags(program, { args: rest, env })
  if (parsed.kind !== 'values') {
    print(formatHelp(program))
    return 0
  }
  const { values } = parsed
  const call = callFor(`${subject} ${action}`, values)
  const token = values.operatorToken ?? missing('operatorToken')
  const response = await fetch(`${values.gateway}/privatemode/v1/admin/${call.path}`, {
    method: call.method,
    headers: {
      authorization: `Bearer ${token instanceof Secret ? token.reveal() : ''}`,
      'content-type': 'application/json',
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  })
  print(`${JSON.stringify(await response.json(), null, 2)}\n`)
  return response.ok ? 0 : 1
}

type Call = { method: string; path: string; body?: Record<string, unknown> }
type Values = {
  readonly name: string | undefined
  readonly account: string | undefined
  readonly expiresAt: string | undefined
  readonly id: string | undefined
  readonly overlapSeconds: number | undefined
}

function callFor(command: string, values: Values): Call {
  const id = () => encodeURIComponent(values.id ?? missing('id'))
  switch (command) {
    case 'keys create':
      return {
        method: 'POST',
        path: 'keys',
        body: {
          name: values.name ?? missing('name'),
          account_id: values.account,
          expires_at: values.expiresAt,
        },
      }
    case 'keys list': {
      const query =
        values.account === undefined ? '' : `?account=${encodeURIComponent(values.account)}`
      return { method: 'GET', path: `keys${query}` }
    }
    case 'keys rotate':
      return {
        method: 'POST',
        path: `keys/${id()}/rotate`,
        body: { overlap_seconds: values.overlapSeconds },
      }
    case 'keys revoke':
      return { method: 'DELETE', path: `keys/${id()}` }
  }
  throw new GatewayError('settings_contradict', `there is no command "${command}"; see --help`)
}

function missing(flag: string): never {
  throw new GatewayError('settings_contradict', `--${flag} is missing`)
}
