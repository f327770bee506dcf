import { expect, test } from 'bun:test'
import { thrown } from '../../test/rejection.ts'
import { askRegistry, isSerious, judge, lockedVersions } from './audit.ts'
import type { Lock } from './check-lock.ts'

const lock: Lock = {
  packages: {
    '': {},
    'packages/own': { version: '0.1.0' },
    'node_modules/a': { version: '1.2.0' },
    'node_modules/b/node_modules/a': { version: '2.0.0' },
    'node_modules/alias': { version: '3.0.0', name: '@scope/real' },
  },
}
const noon = new Date('2026-01-01T12:00:00Z')
const advisory = { url: 'https://advisories.example/1', severity: 'high' }
const registry = (answer: (asked: unknown) => Response) =>
  Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: async (r) => answer(await r.json()) })

test('all versions are queried, under the names that the registry knows', () => {
  expect(lockedVersions(lock)).toEqual({ a: ['1.2.0', '2.0.0'], '@scope/real': ['3.0.0'] })
})

test('an answer of the registry matches the affected versions, live and from a file', async () => {
  let got: unknown
  const server = registry((asked) => {
    got = asked
    return Response.json({ a: [{ ...advisory, vulnerable_versions: '<1.2.1', title: 'long' }] })
  })
  const snapshot = await askRegistry(server.url.href, lock, noon)
  await server.stop(true)
  expect(got).toEqual(lockedVersions(lock))
  const kept = JSON.parse(JSON.stringify(snapshot)) as typeof snapshot
  const { findings, unknown } = judge(lock, kept)
  expect(findings).toEqual([{ ...advisory, package: 'a@1.2.0' }])
  expect(findings.filter(isSerious)).toHaveLength(1)
  expect(unknown).toEqual([])
})

test('a version newer than the snapshot is reported as unknown, and checked all the same', () => {
  const advisories = { a: [{ ...advisory, vulnerable_versions: '>=2.0.0' }] }
  const snapshot = { takenAt: noon.toISOString(), asked: { a: ['1.2.0'] }, advisories }
  const { findings, unknown } = judge(lock, snapshot)
  expect(findings.map((one) => one.package)).toEqual(['a@2.0.0'])
  expect(unknown).toEqual(['a@2.0.0', '@scope/real@3.0.0'])
})

test('a registry that does not answer the query is not a clean result', async () => {
  const server = registry(() => new Response(null, { status: 405 }))
  expect(await thrown(askRegistry(server.url.href, lock, noon))).toThrow('405')
  await server.stop(true)
})
