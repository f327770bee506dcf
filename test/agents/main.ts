/**
 * `npm run task -- test:agents [NAME… | proxy | proxyless]`: coding agents from npm finish a task through
 * the real proxy and through the proxyless endpoint, set up by hand, by the launcher and by the portal.
 */
import { join } from 'node:path'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { startExtraProxy } from '../clients/extra-proxies.ts'
import { runStack } from '../e2e/running-stack.ts'
import { type Agent, task } from './agent.ts'
import { agents, prefixTitle } from './agents.checks.ts'
import { startClosedNetwork } from './closed-network.ts'
import { installAgent } from './install-agent.ts'
import { launchedAgents } from './launched-agents.ts'
import { pastedAgents } from './pasted-agents.ts'
import { runAgent } from './run-agent.ts'
import { agentReply } from './scripted-worker-model.ts'

const model = 'scripted'
const ways = ['proxy', 'proxyless'] as const
const words = process.argv.slice(2)
const wanted = words.filter((word) => !ways.some((way) => way === word))
const chosenWays = ways.filter((way) => words.includes(way))
const chosen = agents.filter(
  (agent) => wanted.length === 0 || wanted.some((word) => agent.package.includes(word)),
)
const counts = { pass: 0, fail: 0, skip: 0 }
const say = (state: keyof typeof counts, text: string, detail = '') => {
  counts[state]++
  console.log(`${state}  ${text}${detail === '' ? '' : `: ${detail}`}`)
}

const network = startClosedNetwork()
// It also has the endpoints of the other dialects, so agents are served by passing on or by translation.
const server = startScriptedServer({
  kind: 'vllm',
  cache: 'salted',
  models: [model],
  contextLength: 200_000,
  native: ['messages', 'responses'],
  reply: agentReply,
})
const stack = await runStack(['--engineUrl', server.url])
// One cache for all requests of this proxy, as a developer's machine would have it.
const shared = { apiKey: stack.apiKey, args: ['--sharedPromptCache'] }
const { process: proxy } = await startExtraProxy(stack, shared)
const authority = join(stack.home, 'tls', 'ca.pem')
type Entrance = { name: string; url: string; apiKey: string; env: Record<string, string> }
const entrances: Record<(typeof ways)[number], Entrance> = {
  proxy: { name: 'the proxy', url: proxy.url, apiKey: 'unused', env: {} },
  proxyless: {
    name: 'the proxyless endpoint',
    url: stack.proxylessUrl,
    apiKey: stack.apiKey,
    env: { NODE_EXTRA_CA_CERTS: authority, SSL_CERT_FILE: authority },
  },
}
try {
  for (const way of chosenWays.length === 0 ? ways : chosenWays)
    for (const agent of chosen) await tryAgent(agent, entrances[way])
  if (chosenWays.length === 0) {
    for (const agent of launchedAgents(chosen)) await tryAgent(agent, entrances.proxy)
    await tryPortalSnippets()
  }
} finally {
  await proxy.stop()
  await stack.stop()
  await server.stop()
  network.stop()
}
console.log(`${counts.pass} passed, ${counts.fail} failed, ${counts.skip} skipped`)
process.exit(counts.fail === 0 ? 0 : 1)

/** An agent also completes its task with the portal's quick start pasted verbatim. */
async function tryPortalSnippets(): Promise<void> {
  const title = "with the portal's quick start pasted, agents finish a task with a tool"
  const pasted = await pastedAgents(stack, chosen)
  if (pasted === undefined) return say('skip', title, 'no Chromium starts here')
  for (const agent of pasted) await tryAgent(agent, entrances.proxy)
}

async function tryAgent(agent: Agent, { name, url, apiKey, env }: Entrance): Promise<void> {
  const through = agent.title.startsWith('check') ? `, by ${name}` : ''
  const title = `${agent.title}${through} (${agent.package} ${agent.version})`
  const installed = await installAgent(agent)
  if (installed === undefined) return say('skip', title, 'npm could not install it')
  const before = server.requests.length
  const started = Date.now()
  const where = { installed, url, apiKey, model, task }
  const verdict = await runAgent(agent, where, { ...network.env, ...env }, server)
  const seconds = ((Date.now() - started) / 1000).toFixed(1)
  const hosts = network.takeHosts()
  const reached = hosts.length === 0 ? '' : `; kept from reaching ${hosts.join(', ')}`
  if (verdict.kind === 'fail') say('fail', title, verdict.why)
  else say('pass', title, `${seconds} s${reached}`)
  if (agent.title.startsWith('check 85')) judgePrefix(before, name)
}

/** The last turn of the session: nearly all of its prompt must have hit the cache. */
function judgePrefix(before: number, name: string): void {
  const turns = server.requests
    .slice(before)
    .filter(({ body }) => Array.isArray(body.tools) && body.tools.length > 0)
  const last = turns.at(-1)
  const share = (last?.cachedTokens ?? 0) / (last?.promptTokens ?? 1)
  const detail = `${Math.round(share * 100)} % of ${last?.promptTokens ?? 0} prompt tokens`
  say(turns.length >= 3 && share > 0.9 ? 'pass' : 'fail', `${prefixTitle}, by ${name}`, detail)
}
