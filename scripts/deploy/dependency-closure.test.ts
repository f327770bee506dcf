import { expect, test } from 'bun:test'
import { closureOf } from './app-tree.ts'
import { dependencyClosure, packageName } from './dependency-closure.ts'
import { imageTrees } from './images.ts'
import { type Lock, readLock } from './locked-package.ts'
import { formatSbom } from './sbom.ts'

const entry = (dependencies: Record<string, string> = {}) => ({ version: '1.0.0', dependencies })
const lock: Lock = {
  packages: {
    'apps/tool': entry({ a: '1', '@ours/lib': '1' }),
    'packages/lib': entry({ b: '1' }),
    'node_modules/@ours/lib': { version: '1.0.0', link: true, resolved: 'packages/lib' },
    'node_modules/a': entry({ b: '2' }),
    'node_modules/a/node_modules/b': entry(),
    'node_modules/b': entry({ a: '1' }),
    'node_modules/unused': entry(),
  },
}

test('the closure follows links and nested packages as Node does, once each, circles too', () => {
  expect(dependencyClosure(lock, 'apps/tool')).toEqual([
    'apps/tool',
    'node_modules/a',
    'node_modules/a/node_modules/b',
    'node_modules/b',
    'packages/lib',
  ])
  expect(dependencyClosure(lock, 'apps/tool', ['b'])).not.toContain('node_modules/b')
  expect(packageName('node_modules/a/node_modules/@b/c')).toBe('@b/c')
})

test('a dependency that the lock file does not have is an error, not a gap', () => {
  const packages = { ...lock.packages, 'apps/tool': entry({ missing: '1' }) }
  expect(() => dependencyClosure({ packages }, 'apps/tool')).toThrow('has no missing')
})

test('the gateway’s image has no code that seals, opens or verifies', () => {
  const closure = closureOf(imageTrees['privatemode-gateway'])
  expect(closure).toContain('node_modules/pg')
  expect(closure.filter((path) => /noble|attestation|sdk/.test(path))).toEqual([])
})

test('an SBOM lists every package of the closure with its version and the hash of its archive', () => {
  const facts = { version: '1.2.3', revision: 'abc', epochSeconds: 1_700_000_000 }
  const tree = imageTrees['privatemode-gateway']
  const sbom = JSON.parse(formatSbom('privatemode-gateway', tree, 'arm64', facts))
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    metadata: { component: { name: 'privatemode-gateway', version: '1.2.3' } },
  })
  const names = sbom.components.map((component: { name: string }) => component.name)
  for (const path of closureOf(tree)) {
    expect(names).toContain(path.includes('node_modules/') ? packageName(path) : path)
  }
  expect(names).toContain('libc6')
  // Bundled into the pages that it serves.
  expect(names).toContain('preact')
  expect(names).toContain('packages/sdk')
  expect(names).toContain('@oven/bun-linux-aarch64')
  const pg = sbom.components.find((component: { name: string }) => component.name === 'pg')
  const integrity = readLock().packages['node_modules/pg']?.integrity ?? ''
  const hex = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
  expect(pg).toMatchObject({ hashes: [{ alg: 'SHA-512', content: hex }] })
  const references = sbom.components.map(
    (component: Record<string, string>) => component['bom-ref'],
  )
  expect(new Set(references).size).toBe(references.length)
})
