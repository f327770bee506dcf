/** Runs one command: a call to the admin API of a running gateway, or an audit of a bill. */
import { readFileSync } from 'node:fs'
import { adminBase } from '@privatemode/protocol/fleet'
import {
  createOutbound,
  type FlagTable,
  type Outbound,
  type Program,
  parseFlags,
  ServiceError,
} from '@privatemode/service'
import { GatewayError } from '../gateway-error.ts'
import { auditBill, formatFindings } from './audit.ts'
import { type AdminRequest, commands } from './commands.ts'

type Environment = Readonly<Record<string, string | undefined>>

const auditHelp = 'compare receipts (--receipts) with a bill (--bill) and print each difference'

const flags = {
  gateway: { type: 'string', default: 'http://127.0.0.1:8090', help: 'address of the gateway' },
  gatewayCaPath: {
    type: 'string',
    help: "PEM file of certificate authorities for the gateway; by default the system's",
  },
  adminToken: { type: 'secret', help: 'admin token, or @path of a file that contains it' },
  id: { type: 'string', help: 'id of the key, account, member, invitation or worker' },
  name: { type: 'string', help: 'name of what is created' },
  account: { type: 'string', help: 'id of an account' },
  email: { type: 'string', help: 'address of a new member' },
  role: {
    type: 'string',
    choices: ['admin', 'member'],
    help: 'role of a member; a new one is a member by default',
  },
  expiresAt: { type: 'string', help: 'expiry of a key, or never' },
  domains: { type: 'string', help: 'e-mail domains, separated by commas' },
  yes: { type: 'boolean', default: false, help: 'do not ask for confirmation' },
  override: {
    type: 'boolean',
    default: false,
    help: 'drain a worker even if no other serves its models',
  },
  overlapSeconds: { type: 'integer', help: 'how long the old secret works after a rotation' },
  keyDays: { type: 'integer', help: "maximum lifetime of members' keys, in days", group: 'Limits' },
  requestsPerMinute: { type: 'integer', help: 'maximum requests per minute', group: 'Limits' },
  tokensPerMinute: { type: 'integer', help: 'maximum tokens per minute', group: 'Limits' },
  tokensPerMonth: { type: 'integer', help: 'maximum tokens per month', group: 'Limits' },
  concurrentStreams: {
    type: 'integer',
    help: 'maximum concurrent requests and streams',
    group: 'Limits',
  },
  key: { type: 'string', help: 'id of an API key, for its usage alone', group: 'Usage' },
  from: { type: 'string', help: 'start of the time range', group: 'Usage' },
  to: { type: 'string', help: 'end of the time range', group: 'Usage' },
  step: {
    type: 'string',
    default: 'day',
    choices: ['hour', 'day', 'month', 'all'],
    help: 'what to group sums by',
    group: 'Usage',
  },
  by: { type: 'string', help: 'key, member, model, path, outcome, account', group: 'Usage' },
  currency: { type: 'string', help: 'currency of prices, such as EUR', group: 'Costs' },
  prices: {
    type: 'string',
    help: 'model=INPUT/CACHED/OUTPUT for a million tokens, separated by commas',
    group: 'Costs',
  },
  amount: { type: 'string', help: 'monthly budget, such as 250 or 0.50', group: 'Costs' },
  format: {
    type: 'string',
    default: 'csv',
    choices: ['csv', 'json'],
    help: 'format of the audit log export',
    group: 'Audit',
  },
  receipts: { type: 'string', help: 'file of receipts, one JSON object per line', group: 'Audit' },
  bill: { type: 'string', help: 'file with exported usage', group: 'Audit' },
} as const satisfies FlagTable

const program: Program<typeof flags> = {
  name: 'privatemode-gateway',
  summary: [
    'administers a running gateway; answers are JSON. Commands:',
    ...Object.entries(commands).map(([name, { help }]) => `  ${name.padEnd(20)}${help}`),
    `  ${'usage audit'.padEnd(20)}${auditHelp}`,
  ].join('\n'),
  version: '0.1.0',
  envPrefix: 'PRIVATEMODE_GATEWAY_',
  flags,
}

/** Exits with 0 if the command succeeded; for an audit, if everything was readable and nothing differs. */
export async function runCommand(
  args: readonly string[],
  env: Environment,
  print: (text: string) => void,
): Promise<number> {
  const words = args.findIndex((word) => word.startsWith('-'))
  const name = args.slice(0, words < 0 ? args.length : words).join(' ')
  const parsed = parseFlags(program, { args: words < 0 ? [] : args.slice(words), env })
  if (parsed.kind === 'text') {
    print(parsed.text)
    return 0
  }
  const { values } = parsed
  if (name === 'usage audit') {
    const findings = auditBill(readNamed('receipts', values), readNamed('bill', values))
    print(formatFindings(findings))
    // Unreadable lines were not compared.
    return findings.differences.length === 0 && findings.unreadable === 0 ? 0 : 1
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    const known = [...Object.keys(commands), 'usage audit', 'migrate'].join(', ')
    const message = `there is no command "${name}"; available: ${known}`
    throw new GatewayError('settings_contradict', message)
  }
  const token = values.adminToken
  if (token === undefined) {
    throw new GatewayError(
      'settings_contradict',
      "set --adminToken to the gateway's admin token, or to @path of a file that contains it",
    )
  }
  const asks = command.ask !== undefined && !values.yes
  const call = asks ? command.ask(values) : command.call(values)
  const { gateway, gatewayCaPath: path } = values
  const ca = path === undefined ? undefined : { path, setting: 'gatewayCaPath' }
  const outbound = createOutbound({ env, ca })
  try {
    const response = await send(outbound, gateway, token.reveal(), call)
    print(await readAnswer(response, gateway))
    if (asks && response.ok) print('Nothing was changed yet: repeat this with --yes.\n')
    return response.ok && !asks ? 0 : 1
  } finally {
    outbound.close()
  }
}

/** A gateway answers with JSON, or CSV for exports; a page of some other server would only confuse. */
async function readAnswer(response: Response, gateway: string): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  const text = await response.text()
  if (type.startsWith('text/csv')) return text
  try {
    if (type.startsWith('application/json')) return `${JSON.stringify(JSON.parse(text), null, 2)}\n`
  } catch {
    // Not what its type says; reported below.
  }
  throw new GatewayError(
    'settings_contradict',
    `${gateway} answered ${response.status}, not as a gateway does; check --gateway`,
  )
}

async function send(
  outbound: Outbound,
  gateway: string,
  token: string,
  call: AdminRequest,
): Promise<Response> {
  if (!/^https?:\/\//.test(gateway) || !URL.canParse(gateway))
    throw new GatewayError(
      'settings_contradict',
      '--gateway must be http:// or https:// and a host',
    )
  const url = new URL(`${adminBase}/${call.path}`, gateway)
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  try {
    return await outbound.fetch(url.href, {
      method: call.method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.code !== 'connection_refused') throw cause
    const remedy = 'is the gateway running? --gateway sets its address'
    throw new ServiceError(cause.code, `${cause.message}; ${remedy}`, { cause })
  }
}

function readNamed(
  flag: 'receipts' | 'bill',
  values: { readonly receipts: string | undefined; readonly bill: string | undefined },
): string {
  const path = values[flag]
  if (path === undefined) throw new GatewayError('settings_contradict', `--${flag} is missing`)
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new GatewayError('settings_contradict', `cannot read ${path}`, { cause })
  }
}
