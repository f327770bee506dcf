import { expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'

const build = async (entry: string): Promise<string> => {
  const entrypoint = fileURLToPath(new URL(entry, import.meta.url))
  const { outputs } = await Bun.build({ entrypoints: [entrypoint], target: 'browser' })
  return (await Promise.all(outputs.map((output) => output.text()))).join('')
}

test('production imports do not include the software evidence verifier', async () => {
  // A check of the verifier itself, and one of the surrounding code that every program has.
  expect(await build('./index.ts')).toContain('software/report-signature')
  const production = await build('../index.ts')
  expect(production).toContain('binding/report-data')
  expect(production).not.toContain('software/report-signature')
})
