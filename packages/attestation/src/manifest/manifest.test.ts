import { beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { utf8 } from '../bytes.ts'
import { softwareWorld } from '../testing/software-world.ts'
import type { AttestationErrorCode } from '../verdict.ts'
import { formatManifest, type ManifestDraft, parseManifest } from './manifest.ts'

let draft: ManifestDraft
beforeAll(async () => {
  draft = (await softwareWorld()).draft
})

const document = () => JSON.parse(new TextDecoder().decode(formatManifest(draft)))
const refused = async (value: unknown, code: AttestationErrorCode) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const error = await parseManifest(utf8(text)).catch((error) => error)
  expect(error).toMatchObject({ name: 'AttestationError', code })
  return error.message as string
}

test('a manifest round-trips, and carries the digest of its bytes', async () => {
  const bytes = formatManifest(draft)
  const manifest = await parseManifest(bytes)
  expect(manifest).toMatchObject({ serial: 1, evidence: 'software', sessionMinutes: 55 })
  expect(manifest.models).toEqual(draft.models)
  expect(manifest.digest).toBe(`sha256:${createHash('sha256').update(bytes).digest('hex')}`)
})

test('an unknown version is refused with the advice to update the proxy', async () => {
  const message = await refused({ ...document(), version: 2 }, 'manifest_unsupported')
  expect(message).toContain('update the proxy to the latest version')
})

test('an unknown field at any depth is refused with the advice to update the proxy', async () => {
  const worker = document().roles.worker
  const deep = [{ ...worker.accept[0], extra: 1 }]
  for (const changed of [
    { ...document(), extra: 1 },
    { ...document(), roles: { ...document().roles, extra: worker } },
    { ...document(), roles: { worker: { ...worker, extra: 1 } } },
    { ...document(), roles: { worker: { accept: deep } } },
    { ...document(), models: [{ ...document().models[0], extra: 1 }] },
    { ...document(), roles: { worker: { accept: [{ kind: 'sgx' }] } } },
  ]) {
    const message = await refused(changed, 'manifest_unsupported')
    expect(message).toContain('update the proxy to the latest version')
  }
})

test('a duplicate name is refused', async () => {
  const text = JSON.stringify(document()).replace('{"version":1', '{"version":1,"version":1')
  await refused(text, 'manifest_malformed')
})

test('a software rule in a hardware manifest is refused', async () => {
  await refused({ ...document(), evidence: 'hardware' }, 'manifest_mixed')
})

test('values outside their range are refused', async () => {
  const [rule] = document().roles.worker.accept
  const withRule = (changes: object) => ({
    ...document(),
    roles: { worker: { accept: [{ ...rule, ...changes }] } },
  })
  for (const changed of [
    { ...document(), serial: 0 },
    { ...document(), serial: 1.5 },
    { ...document(), serial: '1' },
    { ...document(), issued_at: 'yesterday' },
    { ...document(), evidence: 'both' },
    { ...document(), session_minutes: 60 },
    { ...document(), roles: {} },
    { ...document(), roles: { worker: { accept: [] } } },
    { ...document(), models: [{ ...document().models[0], digest: 'sha256:00' }] },
    { ...document(), models: [document().models[0], document().models[0]] },
    withRule({ measurements: [] }),
    withRule({ measurements: ['AB'.repeat(48)] }),
    withRule({ root: 'ab' }),
    withRule({ minimum_tcb: -1 }),
    [],
    null,
    'not json',
  ]) {
    await refused(changed, 'manifest_malformed')
  }
})

test('every field is required, except the session length, the expiry and the second role', async () => {
  const optional = ['session_minutes', 'expires_at']
  for (const name of Object.keys(document())) {
    const { [name]: _, ...rest } = document()
    if (optional.includes(name)) await parseManifest(utf8(JSON.stringify(rest)))
    else await refused(rest, 'manifest_malformed')
  }
})

test('a manifest must expire after it was issued, and one without an expiry is accepted', async () => {
  const { expires_at, ...old } = document()
  expect((await parseManifest(utf8(JSON.stringify(old)))).expiresAt).toBeUndefined()
  const manifest = await parseManifest(formatManifest(draft))
  expect(manifest.expiresAt).toEqual(new Date(expires_at))
  await refused({ ...document(), expires_at: document().issued_at }, 'manifest_malformed')
  await refused({ ...document(), expires_at: 'never' }, 'manifest_malformed')
})

test('a manifest over 65,535 bytes is refused', async () => {
  const text = JSON.stringify(document())
  const padded = (length: number) => text + ' '.repeat(length - text.length)
  expect(await parseManifest(utf8(padded(65_535)))).toMatchObject({ serial: 1 })
  expect(await refused(padded(65_536), 'manifest_malformed')).toContain('at most 65535')
})
