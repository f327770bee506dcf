import { expect, test } from 'bun:test'
import { mutateManifest } from '../testing/manifest-mutations.ts'

test('no manifest field that affects the verdict changes without a refusal', async () => {
  const { changed, refused, justified, survivors } = await mutateManifest()
  console.log(
    `manifest: ${changed} changes of fields, ${refused} refused, ${justified.length} justified`,
  )
  expect(survivors).toEqual([])
  expect(refused + justified.length).toBe(changed)
  expect(changed).toBeGreaterThan(150)
})
