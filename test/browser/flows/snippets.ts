/** Quick start: snippets copied from the page work when pasted. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Flow } from '../portal-world.ts'
import { readSteps, ways } from '../quick-start.ts'

const repository = resolve(import.meta.dir, '../../..')

export function snippetFlow({ admin }: Flow): void {
  test.each(ways)(
    '%s, the curl command works when pasted',
    async (way) => {
      const [command] = await readSteps(admin().page, way, 'curl')
      const { output } = await paste(command?.text ?? '')
      expect(output).toContain('"chat.completion.chunk"')
      expect(output).toContain('[DONE]')
    },
    150_000,
  )

  test.each(
    ways.flatMap((way) => [
      [way, 'OpenAI, JavaScript'],
      [way, 'Anthropic, JavaScript'],
    ]),
  )(
    '%s, the program for %s works when pasted',
    async (way = '', client = '') => {
      const steps = await readSteps(admin().page, way, client)
      const [install = '', program = '', run = ''] = steps.map(({ text }) => text)
      expect(install).toStartWith('npm install ')
      const folder = mkdtempSync(join(tmpdir(), 'privatemode-snippet-'))
      try {
        symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'))
        writeFileSync(join(folder, 'hello.mjs'), program)
        const { output } = await paste(run, folder)
        expect(output).toContain('You said: Write one sentence about the sea.')
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    },
    150_000,
  )

  // `npm run task -- test:agents` runs the agents themselves with them.
  test('the settings for Claude Code and opencode can be read by a shell and as JSON', async () => {
    const { page } = admin()
    const [way] = ways
    const [settings] = await readSteps(page, way, 'Claude Code')
    const shown = (settings?.text ?? '').replace(/\nclaude$/, '\nenv | grep ^ANTHROPIC')
    const { output } = await paste(shown)
    expect(output).toContain('ANTHROPIC_MODEL=scripted')
    const [config] = await readSteps(page, way, 'opencode')
    expect(JSON.parse(config?.text ?? '')).toMatchObject({ model: 'privatemode/scripted' })
  }, 150_000)
}

async function paste(command: string, cwd = repository): Promise<{ output: string }> {
  const child = Bun.spawn(['bash', '-c', command], { cwd, stdout: 'pipe', stderr: 'pipe' })
  const [output, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`the command failed: ${error}`)
  return { output }
}
