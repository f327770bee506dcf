/** Commands and programs of the pages for newcomers, run as they are there; only address and model are replaced. */
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
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
  [/^npm run privatemode -- /, 'apps/proxy/src/agents/run-agent.test.ts'],
  [/^(claude$|cline )/, 'test/agents/agents.checks.ts'],
  [/^(OPENAI_API_BASE=\S+ OPENAI_API_KEY=unused aider|GOOSE_)/, 'test/integrations/main.ts'],
  [/^docker run /, 'docs/integrations.md'],
]
/** Installed by test/integrations, which runs their programs. */
const notInstalled = /langchain_openai|llama_index|pydantic_ai|instructor/
const limitMs = 120_000

export function documentChecks(place: ClientStack, python: Python): void {
  const adapt = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:8080', place.stack.proxyUrl)
      .replaceAll(/\bMODEL\b|tinyllama-1\.1b-chat/g, model)

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
