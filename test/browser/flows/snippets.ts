/** Quick start: what is copied from the page works when pasted. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { type Flow, open } from '../portal-world.ts'

const repository = resolve(import.meta.dir, '../../..')

export function snippetFlow({ admin }: Flow): void {
  const ways = ['Through a proxy of yours', 'Without a proxy'] as const

  test.each(ways)(
    '%s, the curl command works when pasted',
    async (way) => {
      const { page } = admin()
      await choose(page, way, 'curl')
      const [command = ''] = await readSteps(page)
      const { output } = await paste(command)
      expect(output).toContain('"chat.completion.chunk"')
      expect(output).toContain('[DONE]')
    },
    60_000,
  )

  test.each(
    ways.flatMap((way) => [
      [way, 'OpenAI, JavaScript'],
      [way, 'Anthropic, JavaScript'],
    ]),
  )(
    '%s, the program for %s works when pasted',
    async (way = '', client = '') => {
      const { page } = admin()
      await choose(page, way, client)
      const [install = '', program = '', run = ''] = await readSteps(page)
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
    60_000,
  )

  test('the settings for Claude Code and opencode can be read by a shell and as JSON', async () => {
    const { page } = admin()
    await choose(page, 'Through a proxy of yours', 'Claude Code')
    const [settings = ''] = await readSteps(page)
    const { output } = await paste(settings.replace(/\nclaude$/, '\nenv | grep ^ANTHROPIC'))
    expect(output).toContain('ANTHROPIC_MODEL=scripted')
    await choose(page, 'Through a proxy of yours', 'opencode')
    const [config = ''] = await readSteps(page)
    expect(JSON.parse(config)).toMatchObject({ model: 'privatemode/scripted' })
  }, 30_000)
}

async function choose(page: Page, way: string, client: string): Promise<void> {
  await open(page, 'Quick start')
  await page.getByRole('radio', { name: way }).check()
  await page.getByLabel('Client').selectOption(client)
  const makeKey = page.getByRole('button', { name: 'Create a key for these snippets' })
  if ((await makeKey.count()) > 0) {
    await makeKey.click()
    await page.getByText('contain your new key').waitFor()
  }
}

const readSteps = (page: Page) => page.locator('.snippet pre').allTextContents()

async function paste(command: string, cwd = repository): Promise<{ output: string }> {
  const child = Bun.spawn(['bash', '-c', command], { cwd, stdout: 'pipe', stderr: 'pipe' })
  const [output, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  if ((await child.exited) !== 0) throw new Error(`the command failed: ${error}`)
  return { output }
}
