import { describe, expect, test } from 'bun:test'
import { formatHex, utf8 } from '../bytes.ts'
import { readVectorText } from '../testing/vectors.ts'
import { AttestationError, type AttestationErrorCode, Transcript } from '../verdict.ts'
import type { NvidiaReportClaims } from './claims.ts'
import { type GpuFields, readGpuFields, readSwitchFields } from './device-fields.ts'
import { parseSpdmReport } from './spdm-report.ts'
import { requireTopology } from './topology.ts'

const pdi = (number: number): string => number.toString(16).padStart(16, '0')
const switchPdis = [pdi(1), pdi(2), pdi(3), pdi(4)]
const gpuPdis = Array.from({ length: 8 }, (_, index) => pdi(100 + index))

type Device = Pick<NvidiaReportClaims, 'device' | 'mode' | 'switchPdis' | 'pdi' | 'gpuPdis'>
const gpu = (change: Partial<Device> = {}): Device => ({
  device: 'gpu',
  mode: 'protected-pcie',
  switchPdis,
  ...change,
})
const nvswitch = (number: number, change: Partial<Device> = {}): Device => ({
  device: 'switch',
  pdi: pdi(number),
  gpuPdis,
  ...change,
})
const gpus = Array.from({ length: 8 }, () => gpu())
const switches = [1, 2, 3, 4].map((number) => nvswitch(number))

function judge(devices: readonly Device[]) {
  const transcript = new Transcript()
  requireTopology(devices as NvidiaReportClaims[], transcript)
  return transcript.checks
}
function refused(devices: readonly Device[], code: AttestationErrorCode, check: string) {
  const error = catchError(() => judge(devices))
  expect(error).toBeInstanceOf(AttestationError)
  const { code: seen, checks } = error as AttestationError
  expect([seen, checks.at(-1)?.id]).toEqual([code, `nvidia/topology/${check}`])
}

function catchError(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

describe('eight GPUs in protected PCIe mode', () => {
  test('and the four switches that they name, and that name them, are one machine', () => {
    const checks = judge([...gpus, ...switches.toReversed()])
    expect(checks.map(({ result }) => result)).toEqual(Array(5).fill('passed'))
  })

  test('without a switch, or without one of four, are refused', () => {
    refused(gpus, 'device_missing', 'switches')
    refused([...gpus, ...switches.slice(1)], 'device_missing', 'switches')
  })

  test('with a switch of another chassis, replacing one or in addition, are refused', () => {
    refused([...gpus, ...switches.slice(1), nvswitch(9)], 'device_missing', 'switches')
    refused([...gpus, ...switches, nvswitch(9)], 'topology_mismatch', 'chassis')
    const { pdi: _, ...unnamed } = nvswitch(9)
    refused([...gpus, ...switches, unnamed], 'topology_mismatch', 'chassis')
    refused([...gpus, ...switches, nvswitch(1)], 'topology_mismatch', 'chassis')
  })

  test('of which one names other switches, or none, are refused', () => {
    const others = [gpu({ switchPdis: [...switchPdis.slice(1), pdi(9)] }), gpu({ switchPdis: [] })]
    const { switchPdis: _, ...silent } = gpu()
    for (const other of [...others, silent]) {
      refused([...gpus.slice(1), other, ...switches], 'topology_mismatch', 'links')
    }
    refused([gpu({ switchPdis: [] }), ...switches], 'topology_mismatch', 'links')
  })

  test('are refused unless all switches name the same number of GPUs', () => {
    const seven = nvswitch(4, { gpuPdis: gpuPdis.slice(1) })
    refused([...gpus, ...switches.slice(0, 3), seven], 'topology_mismatch', 'gpus')
    refused([...gpus.slice(1), ...switches], 'topology_mismatch', 'gpus')
    const { gpuPdis: _, ...silent } = nvswitch(4)
    refused([...gpus, ...switches.slice(0, 3), silent], 'topology_mismatch', 'gpus')
  })

  test('do not mix with GPUs in another mode', () => {
    const single = gpu({ mode: 'single-pass-through' })
    refused([...gpus.slice(1), single, ...switches], 'topology_mismatch', 'mode')
  })
})

test('if no GPU is in that mode, the comparison is reported as skipped', () => {
  const { mode: _, ...old } = gpu()
  for (const devices of [[], [old], [gpu({ mode: 'multi-pass-through' }), ...switches]]) {
    expect(judge(devices).map(({ result }) => result)).toEqual(['skipped'])
  }
})

describe('the identities in a report', () => {
  const opaque = (...entries: readonly (readonly [number, Uint8Array<ArrayBuffer>])[]) =>
    new Map([[6, utf8('96.10.55.00.01')], ...entries])

  test('of a real GPU are those of its four switches, in the byte order of a switch', () => {
    const json = JSON.parse(readVectorText('nvidia/attestation-sdk/evidence_hopper_590_12.json'))
    const { evidence } = Array.isArray(json) ? json[0] : (json.evidences?.[0] ?? json)
    const report = parseSpdmReport(new Uint8Array(Buffer.from(evidence, 'base64')))
    const fields: GpuFields = readGpuFields(report.opaque)
    expect(fields.mode).toBe('protected-pcie')
    expect(fields.switchPdis).toHaveLength(4)
    // In the report it appears as 8abd113c3ba2db03.
    expect(fields.switchPdis).toContain('03dba23b3c11bd8a')
  })

  test('of a real switch are its own and those of its GPUs', () => {
    const text = readVectorText('nvidia/attestation-sdk/switch/switchAttestationReport.txt')
    const report = parseSpdmReport(new Uint8Array(Buffer.from(text.trim(), 'hex')))
    const fields = readSwitchFields(report.opaque)
    expect(fields.pdi).toBe('203eb31ad9ed0008')
    expect(fields.gpuPdis).toHaveLength(7)
    expect(fields.gpuPdis?.[0]).toBe('40b9c6b3d748fd90')
  })

  test('omit links that are off', () => {
    const list = new Uint8Array(24)
    list[8] = 7
    const { opaque: real } = parseSpdmReport(
      new Uint8Array(
        Buffer.from(readVectorText('nvidia/nvtrust/hopperAttestationReport.txt').trim(), 'hex'),
      ),
    )
    const fields = readGpuFields(new Map([...real, [22, list]]))
    expect(fields.switchPdis).toEqual([formatHex(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 7))])
  })

  test.each<[string, [number, Uint8Array<ArrayBuffer>]]>([
    ['an identity of seven bytes', [22, new Uint8Array(7)]],
    ['too few GPUs', [26, new Uint8Array(63)]],
  ])('with %s are malformed', (_, entry) => {
    expect(() => readSwitchFields(opaque(entry))).toThrow(
      expect.objectContaining({ code: 'evidence_malformed' }),
    )
  })

  test('of switches that do not fill eight bytes each are malformed', () => {
    const { opaque: real } = parseSpdmReport(
      new Uint8Array(
        Buffer.from(readVectorText('nvidia/nvtrust/hopperAttestationReport.txt').trim(), 'hex'),
      ),
    )
    expect(() => readGpuFields(new Map([...real, [22, new Uint8Array(9)]]))).toThrow(
      expect.objectContaining({ code: 'evidence_malformed' }),
    )
  })
})
