import { expect, test } from 'bun:test'
import { compareManifests, describeManifest } from './describe-manifest.ts'
import { machineSource } from './machine-source.ts'
import { lastEntriesFile, readEntries } from './read-entries.ts'

const measurement = 'ab'.repeat(48)
const manifest = (change: object = {}) =>
  JSON.stringify({
    ...{ serial: 2, issued_at: '2026-01-01T00:00:00Z', evidence: 'hardware' },
    roles: { worker: { accept: [{ kind: 'snp', measurement }] } },
    models: [{ id: 'org/chat', weights: 'cd'.repeat(32) }],
    ...change,
  })

test('a manifest reads as a document: machines, models, dates', () => {
  const { serial, facts } = describeManifest(manifest()) ?? { facts: [] }
  expect(serial).toBe(2)
  expect(facts.find(({ name }) => name === 'Accepted as worker')?.value).toBe(
    `AMD SEV-SNP, measuring ${measurement}`,
  )
  expect(facts.find(({ name }) => name === 'Model 1')?.value).toContain('org/chat, weights cdcd')
  expect(describeManifest('[]')).toBeUndefined()
  expect(describeManifest('{')).toBeUndefined()
})

test('the difference names what was changed, added and removed', () => {
  const after = manifest({ serial: 3, expires_at: '2027-01-01', models: [] })
  expect(compareManifests(manifest(), after)).toEqual([
    { path: 'serial', before: '2', after: '3' },
    { path: 'expires_at', before: undefined, after: '2027-01-01' },
    { path: 'models[0].id', before: 'org/chat', after: undefined },
    { path: 'models[0].weights', before: 'cd'.repeat(32), after: undefined },
  ])
  expect(compareManifests(manifest(), manifest())).toEqual([])
})

test('a manifest says from which commit to rebuild its measurements, or nothing', () => {
  const revision = 'ab'.repeat(20)
  const source = (wire: object) => machineSource(manifest({ machine: { source: wire } }))
  expect(source({ revision, repository: 'https://git.example/x' })).toEqual({
    ...{ revision, repository: 'https://git.example/x' },
    command: 'npm run -s verify -- rebuild manifest.json',
  })
  expect(source({ revision })?.command).toEndWith('rebuild manifest.json --source REPOSITORY')
  expect(source({ revision: 'main' })).toBeUndefined()
  expect(machineSource(manifest())).toBeUndefined()
})

test('entries of a log file are read whole or not at all', () => {
  const bytes = new Uint8Array([0, 2, 104, 105, 0, 1, 33])
  expect(readEntries(bytes)).toEqual(['hi', '!'])
  expect(readEntries(bytes.subarray(0, 6))).toBeUndefined()
  expect(readEntries(bytes.subarray(0, 5))).toBeUndefined()
  expect(readEntries(new Uint8Array())).toEqual([])
})

test('the file of the last entry follows from the size of the log', () => {
  expect(lastEntriesFile(1)).toEqual({ path: 'tile/entries/000.p/1', first: 0 })
  expect(lastEntriesFile(256)).toEqual({ path: 'tile/entries/000', first: 0 })
  expect(lastEntriesFile(257)).toEqual({ path: 'tile/entries/001.p/1', first: 256 })
  expect(lastEntriesFile(256 * 1_234_068)).toMatchObject({ path: 'tile/entries/x001/x234/067' })
})
