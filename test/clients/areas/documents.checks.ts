/** Commands and programs of the pages for newcomers, run as they are there; only address and model are replaced. */
import { describe, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { type CodeBlock, codeBlocks, commandsOf } from '../../documents/code-blocks.ts'
import { repository } from '../../documents/markdown-files.ts'
import { type ClientStack, model } from '../client-stack.ts'
import type { Python } from '../python-clients.ts'

const pages = ['README.md', 'docs/quick-start.md', 'docs/integrations.md']
/** Commands that other tests run, and programs that the page itself says were not run. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/^npm (start|test)$/, 'test/e2e/npm-start.test.ts'],
  [/^npm run privatemode -- /, 'test/agents/launched-agents.ts'],
  [/^(claude$|cline )/, 'test/agents/agents.checks.ts'],
  [/^(OPENAI_API_BASE=\S+ OPENAI_API_KEY=unused aider|GOOSE_)/, 'test/integrations/main.ts'],
  [/^docker run --network host /, 'docs/integrations.md'],
  [/^npm run proxy -- --apiEndpoint HOST:443 /, 'test/clients/areas/documents.checks.ts'],
  [/^npm run task -- build:npm$/, 'test/npm/main.ts'],
  [/^npx --package=\.\/dist\/npm\/\S+ privatemode-proxy /, 'test/npm/npx.slow.ts'],
  [/^npm run task -- build:binaries$/, 'test/deploy/binaries.slow.ts'],
  [/^npm run task -- build:images$/, 'test/deploy/proxy-image.slow.ts'],
  [/^docker (load -i|run -p) /, 'test/containers/images.ts'],
  [/^helm install demo deploy\/chart /, 'test/cluster/main.ts'],
  [/^npm start -- --help$/, 'apps/stack/src/settings.test.ts'],
  [/^npm start -- --chatModel hf:/, 'apps/stack/src/models/hugging-face.test.ts'],
  [/^npm start -- --chatModel ollama:/, 'apps/stack/src/models/ollama-store.test.ts'],
  [/^npm start -- --engineUrl /, 'test/e2e/stop.test.ts'],
  [/^npm run task -- build:site$/, 'scripts/build-site.ts'],
  [/^npm run task -- docs:recording$/, 'scripts/record-terminal.ts'],
  [/^npm run task -- test:agents$/, 'test/agents/main.ts'],
  [/^npm run task -- test:integrations$/, 'test/integrations/main.ts'],
  [/^curl \S+\/v1\/models$/, 'test/clients/areas/documents.checks.ts'],
]
/** In the text and in tables. */
const inline = /`((?:npm|npx|helm|docker|curl) [^`]+)`/g
/** Installed by test/integrations, which runs their programs. */
const notInstalled = /langchain_openai|llama_index|pydantic_ai|instructor/
const limitMs = 120_000

export function documentChecks(place: ClientStack, python: Python): void {
  const adapt = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:8080', place.stack.proxyUrl)
      .replaceAll(/\bMODEL\b|tinyllama-1\.1b-chat/g, model)

  test(
    "README.md: the table's command starts the proxy from this checkout",
    () => proxyOfReadme(place),
    limitMs,
  )

  describe.each(pages)('%s', (page) => {
    const blocks = codeBlocks(readFileSync(join(repository, page), 'utf8'))
    const named = (wanted: (block: CodeBlock) => boolean) =>
      blocks.filter(wanted).map((block, at) => [`${block.heading}, ${at + 1}`, block] as const)
    const commands = blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ text }) => commandsOf(text))

    test('every command is run, here or by the test that is named', () => {
      const unknown = commands.filter(
        (command) =>
          !command.startsWith('curl ') && !elsewhere.some(([known]) => known.test(command)),
      )
      expect(unknown).toEqual([])
    })

    test('every command in the text and in tables is run by the test that is named', () => {
      const text = withoutBlocks(readFileSync(join(repository, page), 'utf8'))
      const unknown = [...text.matchAll(inline)]
        .map(([, command = '']) => command)
        .filter((command) => !elsewhere.some(([known]) => known.test(command)))
      expect(unknown).toEqual([])
      expect(elsewhere.filter(([, file]) => !existsSync(join(repository, file)))).toEqual([])
    })

    const curls = commands.filter((command) => command.startsWith('curl '))
    if (curls.length > 0)
      test.each(curls)(
        '%s',
        async (command) => {
          expect(await run(['bash', '-c', adapt(command)])).toMatch(/ said:|manifest/)
        },
        limitMs,
      )

    const typescript = named(({ language }) => language === 'ts')
    if (typescript.length > 0)
      test.each(typescript)(
        'TypeScript: %s',
        async (_, { text }) => {
          expect(await run([process.execPath, '-e', adapt(text)])).toContain('You said: Hello')
        },
        limitMs,
      )

    const programs = named(
      ({ language, text }) => language === 'python' && !notInstalled.test(text),
    )
    const missing = 'missing' in python ? python.missing : undefined
    for (const [name, { text }] of programs)
      unlessMissing(missing).test(
        `Python: ${name}`,
        async () => {
          if ('missing' in python) return
          expect(await run([python.path, '-c', adapt(text)])).toContain('You said: Hello')
        },
        limitMs,
      )
  })
}

const withoutBlocks = (markdown: string) => markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')

/** The row of the README that starts the proxy from a checkout. */
async function proxyOfReadme({ stack }: ClientStack): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-readme-'))
  const readme = readFileSync(join(repository, 'README.md'), 'utf8')
  const row = /`(npm run proxy -- [^`]+)`/.exec(readme)?.[1] ?? ''
  const { logKey, softwareRoot } = JSON.parse(readFileSync(join(stack.home, 'client.json'), 'utf8'))
  writeFileSync(join(folder, 'key.txt'), stack.apiKey)
  const command = row
    .replace('HOST:443', stack.gatewayUrl)
    .replace('KEY', logKey)
    .replace('@key.txt', `@${join(folder, 'key.txt')}`)
  const trial = `--allowSoftwareAttestation --softwareRootFingerprint ${softwareRoot}`
  const child = Bun.spawn(
    ['bash', '-c', `exec ${command} ${trial} --port 0 --workspace ${folder}`],
    { cwd: repository, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', timeout: limitMs },
  )
  try {
    let said = ''
    const read = async (stream: ReadableStream<Uint8Array>) => {
      for await (const bytes of stream) {
        said += new TextDecoder().decode(bytes)
        if (said.includes('msg=ready')) return
      }
    }
    await Promise.race([read(child.stdout), read(child.stderr)])
    expect(said).toContain('msg=ready')
    const url = /msg=listening url=(\S+)/.exec(said)?.[1]
    expect(await (await fetch(`${url}/v1/models`)).text()).toContain(model)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
}

async function run(command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: repository,
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: limitMs,
  })
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return `${output}${errors}`
}
