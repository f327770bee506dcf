/**
 * `npm run task -- test:integrations [NAME…] [--write]`: libraries and applications from PyPI, Go's module proxy and
 * npm, with the settings that docs/integrations.md gives, through a running stack.
 *
 * Each is installed once into a cache of its own, at the version that is pinned here; during a run nothing but
 * loopback can be reached. `--write` puts versions, date and results into the page.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'
import { parseTaskArguments } from '../../scripts/task-arguments.ts'
import { startClosedNetwork } from '../agents/closed-network.ts'
import { writeBetween } from '../confined/write-between.ts'
import { codeBlocks } from '../documents/code-blocks.ts'
import { runStack } from '../e2e/running-stack.ts'
import { install } from './install.ts'
import { integrationReply } from './integration-model.ts'
import { type Integration, integrations, type Place } from './integrations.ts'

type Result = { readonly integration: Integration; readonly failure: string | undefined }

const page = join(import.meta.dir, '../../docs/integrations.md')
const model = 'scripted'
/** Compiling the Go clients for the first time takes a while. */
const stepLimitMs = 900_000

const { values, positionals } = parseTaskArguments({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
})
const chosen = integrations.filter(
  ({ title }) => positionals.length === 0 || positionals.some((word) => title.includes(word)),
)
const network = startClosedNetwork()
const server = startScriptedServer({
  kind: 'vllm',
  cache: 'salted',
  models: [model],
  contextLength: 200_000,
  reply: integrationReply,
})
const stack = await runStack(['--engineUrl', server.url])
const results: Result[] = []
try {
  for (const integration of chosen) {
    const failure = await attempt(integration)
    results.push({ integration, failure })
    const [name] = integration.packages
    console.log(`${failure === undefined ? 'pass' : 'FAIL'}  ${integration.title} (${name})`)
    if (failure !== undefined) console.log(failure.replaceAll(/^/gm, '      '))
  }
} finally {
  await stack.stop()
  await server.stop()
  network.stop()
}
if (values.write) {
  const date = new Date().toISOString().slice(0, 10)
  const rows = results.map((result) => tableRow(result))
  const head = ['', '| Client | Version | What the run covers |', '|---|---|---|']
  const text = [
    `Run of ${date} by \`npm run task -- test:integrations\`:`,
    ...head,
    ...rows,
    '',
    '',
  ]
  writeBetween('test:integrations', text.join('\n'), 'docs/integrations.md')
}
const failed = results.filter(({ failure }) => failure !== undefined).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

/** Undefined if all of it worked, otherwise what did not. */
async function attempt(integration: Integration): Promise<string | undefined> {
  const installed = await install(integration)
  if ('missing' in installed) return `not installed: ${installed.missing}`
  const work = mkdtempSync(join(tmpdir(), 'privatemode-integration-'))
  const place: Place = {
    url: stack.proxyUrl,
    model,
    installed: installed.folder,
    work,
    onPage: (language) => findOnPage(integration.heading, language),
  }
  try {
    for (const { command, env, prints } of integration.steps(place)) {
      const child = Bun.spawn([...command], {
        cwd: work,
        env: { ...basicEnvironment(work), ...network.env, ...env },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
        timeout: stepLimitMs,
        killSignal: 'SIGKILL',
      })
      const [out, errors, code] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
        child.exited,
      ])
      if (code !== 0 || !prints.test(out)) {
        return `${command.slice(0, 2).join(' ')} ended with ${code}:\n${(errors + out).slice(-1500)}`
      }
    }
    return undefined
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

function findOnPage(heading: string, language: string): string {
  const block = codeBlocks(readFileSync(page, 'utf8')).find(
    (one) => one.heading === heading && one.language === language,
  )
  if (block === undefined) throw new Error(`${page} has no ${language} under "${heading}"`)
  return block.text
    .replaceAll('http://127.0.0.1:8080', stack.proxyUrl)
    .replaceAll(/\bMODEL\b/g, model)
}

/** Go keeps its caches; everything else starts in an empty home. */
function basicEnvironment(home: string): Record<string, string> {
  const { PATH = '', GOPATH, GOMODCACHE, GOCACHE, HOME = '' } = process.env
  return {
    ...{ PATH, HOME: home, LANG: 'C.UTF-8', TERM: 'dumb', GOFLAGS: '-mod=mod', GOPROXY: 'off' },
    GOPATH: GOPATH ?? join(HOME, 'go'),
    GOMODCACHE: GOMODCACHE ?? join(GOPATH ?? join(HOME, 'go'), 'pkg/mod'),
    GOCACHE: GOCACHE ?? join(HOME, '.cache/go-build'),
  }
}

function tableRow({ integration, failure }: Result): string {
  const { title, packages, covers } = integration
  const version = /(?:==|@v?)([\d.]+)$/.exec(packages[0] ?? '')?.[1] ?? ''
  return `| ${title} | ${version} | ${failure === undefined ? covers : '**failed**'} |`
}
