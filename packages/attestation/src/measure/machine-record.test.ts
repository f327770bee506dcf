import { expect, test } from 'bun:test'
import { formatMachineRecord, type MachineRecord, parseMachineRecord } from './machine-record.ts'

const record: MachineRecord = {
  source: { repository: 'https://git.example/privatemode', revision: 'a'.repeat(40) },
  config: { version: 1 },
  commandLine: 'ro pm.variant=production',
  snp: [{ cpu: 'EPYC-Milan', vcpus: 8 }],
  tdx: [
    {
      memoryMib: 4096,
      acpiLoader: '1'.repeat(96),
      acpiRsdp: '2'.repeat(96),
      acpiTables: '3'.repeat(96),
      smbios: '4'.repeat(96),
    },
  ],
  limits: ['host_acpi'],
}

test('a record that was written is read back as it was', () => {
  expect(parseMachineRecord(formatMachineRecord(record))).toEqual(record)
})

test.each([
  ['a branch instead of a commit', { source: { revision: 'main' } }],
  ['an option instead of a commit', { source: { revision: '--upload-pack=x' } }],
  ['an unknown CPU model', { snp: [{ cpu: 'EPYC-Naples', vcpus: 1 }] }],
  ['no vCPU', { snp: [{ cpu: 'EPYC-Milan', vcpus: 0 }] }],
  ['an unknown limit', { limits: ['none'] }],
  ['a list as configuration', { config: [] }],
  ['an unknown member', { more: 1 }],
])('%s is refused', (_, change) => {
  expect(() => parseMachineRecord({ ...formatMachineRecord(record), ...change })).toThrow(
    /manifest\.machine/,
  )
})
