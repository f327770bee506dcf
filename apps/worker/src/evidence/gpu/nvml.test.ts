import { expect, test } from 'bun:test'
import { collectGpuEvidence, type Nvml, openNvml } from './nvml.ts'

const nonce = new Uint8Array(32).fill(0x42)
const on = { environment: 2, feature: 1, devTools: 0, multiGpu: 0 }

/** A driver that fills its structures as laid out in nvml.h. */
function driver(settings = on, sizes = { report: 5, chain: 7 }): Nvml {
  const fill = (structure: Uint8Array, size: number, at: number, text: string) => {
    new DataView(structure.buffer).setUint32(4, size, true)
    structure.set(new TextEncoder().encode(text), at)
  }
  return {
    settings: () => settings,
    count: () => 2,
    architecture: () => 9,
    report: (index, structure) => {
      expect(structure.length).toBe(12 + 32 + 0x2000 + 0x1000)
      expect(structure.subarray(12, 44)).toEqual(nonce)
      fill(structure, sizes.report, 44, `rep-${index}`)
    },
    certificate: (index, structure) => {
      expect(structure.length).toBe(8 + 0x1000 + 0x1400)
      fill(structure, sizes.chain, 8 + 0x1000, `chain-${index}`)
    },
    close: () => {},
  }
}

test('every GPU returns a report over our nonce and the attestation chain', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  expect(collectGpuEvidence(driver(), nonce)).toEqual(
    [0, 1].map((index) => ({
      arch: 'HOPPER',
      nonce: '42'.repeat(32),
      evidence: base64(`rep-${index}`),
      certificate: base64(`chain-${index}`),
    })),
  )
})

test('protected PCIe counts as confidential, and an unknown architecture is shown by number', () => {
  const evidence = collectGpuEvidence(
    { ...driver({ ...on, feature: 0, multiGpu: 1 }), architecture: () => 11 },
    nonce,
  )
  expect(evidence.map(({ arch }) => arch)).toEqual(['architecture 11', 'architecture 11'])
})

test.each([
  ['confidential computing is off', { ...on, feature: 0 }],
  ['environment 1 is not the production environment', { ...on, environment: 1 }],
  ['development tools can reach the GPU', { ...on, devTools: 1 }],
])('refused: %s', (reason, settings) => {
  expect(() => collectGpuEvidence(driver(settings), nonce)).toThrow(reason)
})

test.each([
  ['no report', { report: 0, chain: 7 }],
  ['a report longer than its field', { report: 0x2001, chain: 7 }],
  ['a chain longer than its field', { report: 5, chain: 0x1401 }],
])('refused: %s', (_, sizes) => {
  expect(() => collectGpuEvidence(driver(on, sizes), nonce)).toThrow(/expected 1 to/)
})

test('without the driver, the error names what is missing', () => {
  expect(() => openNvml('libno-such-driver.so.1')).toThrow(/is NVIDIA's driver installed/)
})
