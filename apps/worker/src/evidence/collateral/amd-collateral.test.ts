import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { authenticateSnp, type SnpEvidence, Transcript } from '@privatemode/attestation'
import { parseSnpReport } from '@privatemode/attestation/inspect'
import type { Bytes } from '@privatemode/protocol/envelope'
import { createLog } from '@privatemode/service'
import { formatPem } from '../../../../../packages/attestation/src/testing/nvidia-world.ts'
import {
  type SnpWorld,
  snpWorld,
} from '../../../../../packages/attestation/src/testing/snp-world.ts'
import { testNow } from '../../../../../packages/attestation/src/testing/test-authority.ts'
import { type AmdOptions, stapleAmd } from './amd-collateral.ts'
import type { CertificateTable } from './certificate-table.ts'
import { CollateralCache } from './collateral-cache.ts'

// A world has RSA keys, which take seconds to generate on a busy machine.
setDefaultTimeout(60_000)
const worlds = new Map<string, Promise<SnpWorld>>()
const worldOf = (...[product, signer]: Parameters<typeof snpWorld>): Promise<SnpWorld> => {
  const name = `${product} ${signer}`
  const world = worlds.get(name) ?? snpWorld(product, signer)
  worlds.set(name, world)
  return world
}

const caches: CollateralCache[] = []
afterEach(() => {
  for (const cache of caches.splice(0)) cache.close()
})

/** AMD's service for one world; records the requests it receives. */
function service(world: SnpWorld, change: Partial<AmdOptions> = {}) {
  const paths: string[] = []
  const lines: string[] = []
  const { askDer, arkDer } = world.authorities
  const fetch = async (target: string | URL): Promise<Response> => {
    const path = String(target).replace('https://kds.example', '')
    paths.push(path)
    if (path.endsWith('/cert_chain')) return new Response(formatPem([askDer, arkDer]))
    return new Response(path.endsWith('/crl') ? world.crl : await world.issueLeaf())
  }
  const log = createLog({ format: 'text', level: 0, write: (text) => lines.push(text) })
  const cache = new CollateralCache({ now: () => testNow, log })
  caches.push(cache)
  const vendor = { fetch, timeoutMs: 1_000 }
  const base = { cache, log, vendor, kdsUrl: 'https://kds.example', product: undefined }
  const options: AmdOptions = { ...base, ...change }
  return { paths, lines, options }
}

async function staple(report: Bytes, table: CertificateTable, options: AmdOptions) {
  const staples = await stapleAmd(parseSnpReport(report), table, options)
  const text = Buffer.from(report).toString('base64')
  return { kind: 'snp', report: text, ...staples } satisfies SnpEvidence
}

const authentic = (evidence: SnpEvidence, world: SnpWorld) =>
  authenticateSnp(evidence, world.context, new Transcript())

test('a Turin certificate is requested by eight bytes of the chip id and five components', async () => {
  const world = await worldOf('Turin')
  const { paths, options } = service(world)
  const evidence = await staple(await world.signReport(), {}, options)
  expect(await authentic(evidence, world)).toMatchObject({ product: 'Turin' })
  expect(paths.toSorted()).toEqual([
    '/vcek/v1/Turin/cert_chain',
    '/vcek/v1/Turin/crl',
    '/vcek/v1/Turin/fffefdfcfbfaf9f8?fmcSPL=1&blSPL=2&teeSPL=3&snpSPL=4&ucodeSPL=80',
  ])
})

test("a provider's VLEK comes from the host, its authorities from AMD's service for such keys", async () => {
  const world = await worldOf('Milan', 'vlek')
  const { paths, options } = service(world)
  const evidence = await staple(
    await world.signReport(),
    { vlek: await world.issueLeaf() },
    options,
  )
  expect(await authentic(evidence, world)).toMatchObject({ signer: 'vlek' })
  expect(paths.toSorted()).toEqual(['/vlek/v1/Milan/cert_chain', '/vlek/v1/Milan/crl'])
})

test("a VLEK missing from the host's table is logged and left out", async () => {
  const world = await worldOf('Milan', 'vlek')
  const { lines, options } = service(world)
  const evidence = await staple(await world.signReport(), {}, options)
  expect(evidence.certificates.length).toBe(2)
  expect(lines.join('')).toContain('amd vlek')
})

test('for a report that names no processor, the product comes from the host or from the flag', async () => {
  const world = await worldOf('Genoa')
  const report = await world.signReport({ version: 2 })
  const told = service(world)
  const given = await staple(report, { vcek: await world.issueLeaf() }, told.options)
  expect(await authentic(given, world)).toMatchObject({ product: 'Genoa' })

  const flagged = service(world, { product: 'Genoa' })
  expect(await authentic(await staple(report, {}, flagged.options), world)).toBeDefined()

  const untold = service(world)
  expect(await staple(report, {}, untold.options)).toMatchObject({ certificates: [], crls: [] })
  expect(untold.lines.join('')).toContain('set --amdProduct')
})

test("the host's revocation list is used while AMD's service is unreachable", async () => {
  const world = await worldOf('Genoa')
  const { options } = service(world, {
    vendor: { timeoutMs: 1_000, fetch: () => Promise.reject(new Error('unreachable')) },
  })
  const { askDer, arkDer } = world.authorities
  const table = { vcek: await world.issueLeaf(), ask: askDer, ark: arkDer, crl: world.crl }
  const evidence = await staple(await world.signReport(), table, options)
  expect(await authentic(evidence, world)).toBeDefined()
})

test('garbage in place of a certificate is ignored', async () => {
  const world = await worldOf('Genoa')
  const { paths, options } = service(world)
  const table = { vcek: Uint8Array.of(1, 2, 3) }
  const evidence = await staple(await world.signReport(), table, options)
  expect(await authentic(evidence, world)).toBeDefined()
  expect(paths.length).toBe(3)
})
