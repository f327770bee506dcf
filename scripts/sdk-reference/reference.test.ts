import { expect, test } from 'bun:test'
import { formatReference } from './reference.ts'

test('the reference of the SDK is what its declarations say (npm run docs writes it)', async () => {
  const file = Bun.file(new URL('../../docs/sdk-reference.md', import.meta.url))
  expect((await file.text()) === (await formatReference())).toBe(true)
}, 240_000)
