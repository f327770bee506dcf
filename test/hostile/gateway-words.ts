/** Attacks with text that a hostile gateway writes: none of it may reach an application. */
import { privateFetch } from '@privatemode/sdk'
import type { HostileWorld } from './hostile-world.ts'

export type GatewayWords = {
  readonly name: string
  readonly play: (world: HostileWorld) => Promise<WordsResult>
}

export type WordsResult = {
  /** What applications received instead. */
  readonly told: readonly string[]
  readonly problems: readonly string[]
}

const lure = 'restart with --allowSoftwareAttestation'
const longestPauseSeconds = 600

const refusal = (status: number, code: string) => async () =>
  Response.json(
    { error: { code, message: lure, param: lure, type: lure, retryable: true } },
    { status, headers: { 'retry-after': '86400', 'x-should-retry': 'true', warning: lure } },
  )

/** A code that a gateway may use is accepted, with our status and our text. */
async function refuseInItsWords(world: HostileWorld): Promise<WordsResult> {
  const client = await world.warmClient()
  const codes = { overloaded: 503, invalid_api_key: 401, internal_error: 500 }
  const seen: Seen[] = []
  const problems: string[] = []
  for (const [code, status] of Object.entries(codes)) {
    world.gateway.play({ sealed: refusal(418, code) })
    const answer = await ask(world, client)
    seen.push(answer)
    if (answer.told !== `${status} ${code}`) problems.push(`${code} became ${answer.told}`)
  }
  return judge(seen, problems)
}

/** A code that only a worker or the client may use is ignored. */
async function speakForOthers(world: HostileWorld): Promise<WordsResult> {
  const client = await world.warmClient()
  const seen: Seen[] = []
  const problems: string[] = []
  for (const code of ['context_length_exceeded', 'attestation_refused', 'engine_failed']) {
    world.gateway.play({ sealed: refusal(400, code) })
    const answer = await ask(world, client)
    seen.push(answer)
    if (answer.told !== '502 upstream_error') problems.push(`${code} became ${answer.told}`)
  }
  return judge(seen, problems)
}

async function refuseAttestation(world: HostileWorld): Promise<WordsResult> {
  const spoken: (() => Promise<Response>)[] = [
    refusal(403, 'permission_denied'),
    async () => Response.json({ statement: 'AA==', evidence: { cpu: { kind: lure } } }),
    async () => new Response(`{"statement":"AA==","${lure}":1,"${lure}":2}`),
    async () => Response.json({ statement: lure, evidence: { cpu: { kind: 'snp' }, devices: [] } }),
  ]
  const seen: Seen[] = []
  const problems: string[] = []
  for (const attestation of spoken) {
    world.gateway.play({ attestation })
    const answer = await ask(world, world.newClient())
    seen.push(answer)
    if (answer.status < 400) problems.push(`it was answered with ${answer.status}`)
  }
  return judge(seen, problems)
}

type Seen = {
  readonly status: number
  readonly told: string
  readonly pauseSeconds: number
  /** Everything an application sees of a call except the status. */
  readonly text: string
}

async function ask(
  { system, gateway }: HostileWorld,
  client: ReturnType<HostileWorld['newClient']>,
): Promise<Seen> {
  const call = privateFetch({ client, apiKey: system.apiKey, defaultSalt: undefined })
  const body = { model: 'org/chat-1', messages: [{ role: 'user', content: 'hi' }] }
  const init = { method: 'POST', body: JSON.stringify(body) }
  const response = await call(`${gateway.url}/v1/chat/completions`, init)
  const text = await response.text()
  const code: unknown = JSON.parse(text).error?.code
  return {
    status: response.status,
    told: `${response.status} ${code}`,
    pauseSeconds: Number(response.headers.get('retry-after') ?? 0),
    text: JSON.stringify([Object.fromEntries(response.headers), text]),
  }
}

function judge(seen: readonly Seen[], found: readonly string[]): WordsResult {
  const problems = [...found]
  if (seen.some(({ text }) => text.includes('allowSoftwareAttestation')))
    problems.push('its words arrived')
  if (seen.some(({ pauseSeconds }) => !(pauseSeconds <= longestPauseSeconds)))
    problems.push('its pause arrived')
  return { told: [...new Set(seen.map(({ told }) => told))], problems }
}

/** Makes the gateway honest again for the next attack, whose client has to verify the workers first. */
const thenHonest =
  (play: GatewayWords['play']): GatewayWords['play'] =>
  async (world) => {
    try {
      return await play(world)
    } finally {
      world.gateway.play({})
    }
  }

export const gatewayWords: readonly GatewayWords[] = [
  { name: 'refuses a sealed request with words of its own', play: thenHonest(refuseInItsWords) },
  { name: 'speaks for a worker or for the client itself', play: thenHonest(speakForOthers) },
  {
    name: 'refuses attestation with words of its own, or writes them into evidence',
    play: thenHonest(refuseAttestation),
  },
]
