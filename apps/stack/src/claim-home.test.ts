import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimHome } from './claim-home.ts'
import { Home } from './home.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-claim-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a home that is in use is refused, and free again once it is released', () => {
  const home = new Home(join(folder, 'one'))
  const release = claimHome(home, 'http://127.0.0.1:1')
  expect(() => claimHome(home, 'http://127.0.0.1:2')).toThrow(
    'already running at http://127.0.0.1:1',
  )
  release()
  claimHome(home, 'http://127.0.0.1:2')()
})

test('of two starts that find what a killed one left, one gets the home', async () => {
  const module = join(import.meta.dir, 'claim-home.ts')
  const program = (path: string, atMs: number) => `
    const { claimHome } = await import(${JSON.stringify(module)})
    const home = { path: ${JSON.stringify(path)}, at: (name) => ${JSON.stringify(path)} + '/' + name }
    while (Date.now() < ${atMs}) {}
    try { claimHome(home, 'url'); process.stdout.write('claimed') } catch { process.stdout.write('refused') }
    await Bun.stdin.text()`
  const rounds = Array.from({ length: 12 }, async (_, round) => {
    const { path } = new Home(join(folder, `round-${round}`))
    writeFileSync(
      join(path, 'running.json'),
      JSON.stringify({ pid: 2 ** 30, started: '', url: '' }),
    )
    const atMs = Date.now() + 1500 + 100 * round
    const starts = [1, 2].map(() =>
      Bun.spawn([process.execPath, '-e', program(path, atMs)], { stdin: 'pipe', stdout: 'pipe' }),
    )
    const said = starts.map(async ({ stdout }) => {
      for await (const bytes of stdout) return new TextDecoder().decode(bytes)
      return 'nothing'
    })
    const both = await Promise.all(said) // each holds on until the other has tried
    for (const { stdin } of starts) stdin.end()
    return both.sort()
  })
  for (const both of await Promise.all(rounds)) expect(both).toEqual(['claimed', 'refused'])
}, 60_000)
