import { expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const module = join(import.meta.dir, 'start-over.ts')

test('a program restarted for many requests can have more than 256 requests open', async () => {
  let open = 0
  const all = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch() {
      if (++open === 300) all.resolve()
      await all.promise
      return new Response('x')
    },
  })
  const script = join(mkdtempSync(join(tmpdir(), 'start-over-')), 'main.ts')
  writeFileSync(
    script,
    `import { manyRequests, startOverWith } from '${module}'
startOverWith(manyRequests)
const fetches = Array.from({ length: 300 }, () => fetch('${server.url}').then((r) => r.text()))
await Promise.all(fetches)
console.log(process.argv.slice(2).join(' '), process.pid)
`,
  )
  const env = { PATH: process.env.PATH ?? '' }
  const child = Bun.spawn([process.execPath, script, 'a', 'b c'], { env, stdout: 'pipe' })
  expect(await new Response(child.stdout).text()).toBe(`a b c ${child.pid}\n`)
  await server.stop(true)
}, 240_000)

test("the variables are set before the program runs, and the operator's values are kept", async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'start-over-')), 'main.ts')
  writeFileSync(
    script,
    `import { startOverWith } from '${module}'
startOverWith({ FIRST: 'ours', SECOND: 'ours' })
console.log(process.env.FIRST, process.env.SECOND)
`,
  )
  const env = { PATH: process.env.PATH ?? '', SECOND: 'theirs' }
  const child = Bun.spawn([process.execPath, script], { env, stdout: 'pipe' })
  expect(await new Response(child.stdout).text()).toBe('ours theirs\n')
}, 240_000)
