/**
 * Compared with a report from hardware, and with values that other calculators published
 * (test/vectors/measure).
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Bytes, formatHex, parseHex } from '../bytes.ts'
import { sha256 } from '../digest.ts'
import { readVector, readVectorText } from '../testing/vectors.ts'
import { parseFirmware } from './firmware-table.ts'
import { hashKernel, type KernelHashes } from './kernel-hashes.ts'
import { readSevMetadata, type SevMetadata, sectionKinds } from './sev-metadata.ts'
import { digestFirmware, digestLaunch, type SnpLaunch } from './snp-launch.ts'
import { cpuSignatures, type Hypervisor } from './vmsa.ts'

const read = (path: string) => JSON.parse(readVectorText(`measure/${path}`))
const hex = (text: string) => parseHex(text) ?? new Uint8Array(0)
const empty = new Uint8Array(0)

type WireSection = { gpa: string; size: string; type: keyof typeof sectionKinds }
type WireFirmware = { sections: WireSection[]; hashes_table_gpa: string; reset_eip: string }

const metadataOf = (wire: WireFirmware): SevMetadata => ({
  sections: wire.sections.map(({ gpa, size, type }) => ({
    at: Number(gpa),
    size: Number(size),
    kind: sectionKinds[type],
  })),
  hashTableAt: Number(wire.hashes_table_gpa),
  resetEip: Number(wire.reset_eip),
})

async function commandLineHash(commandLine: string): Promise<Bytes> {
  return (await hashKernel({ kernel: empty, initrd: empty, commandLine })).commandLine
}

test('the digest in a Milan report is recomputed from what was launched', async () => {
  const vector = read('snp-hardware/dstack-milan-2vcpu.json')
  const digest = await digestLaunch(hex(vector.firmware_ld), metadataOf(vector), {
    hypervisor: 'qemu',
    vcpus: vector.vcpus,
    rdx: Number(vector.vcpu_sig),
    sevFeatures: BigInt(vector.guest_features),
    kernel: {
      kernel: hex(vector.kernel_sha256),
      initrd: hex(vector.initrd_sha256),
      commandLine: await commandLineHash(vector.cmdline),
    },
  })
  expect(formatHex(digest)).toBe(vector.expected_measurement)
})

const rdxOf = (hypervisor: Hypervisor, model: keyof typeof cpuSignatures | null) =>
  hypervisor === 'qemu' ? cpuSignatures[model ?? 'EPYC-v4'] : 0x600

test('published digests of two builds of OVMF are recomputed, for QEMU, EC2 and GCE', async () => {
  const vector = read('snp-suffix/expected.json')
  for (const row of vector.digests) {
    const firmware = parseFirmware(readVector(`measure/snp-suffix/${row.firmware}`))
    const pages = await digestFirmware(firmware)
    expect(formatHex(pages)).toBe(vector.firmware_ld[row.firmware])
    const digest = await digestLaunch(pages, readSevMetadata(firmware), {
      hypervisor: row.vmm,
      vcpus: row.vcpus,
      rdx: rdxOf(row.vmm, row.vcpu_type),
      sevFeatures: BigInt(row.guest_features),
      ...(row.kernel !== null && {
        kernel: await hashKernel({ kernel: empty, initrd: empty, commandLine: row.cmdline }),
      }),
    })
    expect(`${row.test} ${formatHex(digest)}`).toBe(`${row.test} ${row.launch_digest}`)
  }
})

test('EC2 firmware known only by its metadata yields the published digests', async () => {
  for (const row of read('snp-suffix/expected.json').ec2_metadata_only) {
    const file = read(`snp-suffix/${row.file}`)
    const metadata: SevMetadata = {
      sections: file.MetadataItems.map(
        (one: { GPA: string; Size: string; SectionTypeInt: keyof typeof sectionKinds }) => ({
          at: Number(one.GPA),
          size: Number(one.Size),
          kind: sectionKinds[one.SectionTypeInt],
        }),
      ),
      hashTableAt: undefined,
      resetEip: Number(file.ResetEIP),
    }
    for (const [rdx, expected] of Object.entries(row.recomputed)) {
      const digest = await digestLaunch(hex(file.OVMFHash), metadata, {
        hypervisor: 'ec2',
        vcpus: row.vcpus,
        rdx: Number(rdx),
        sevFeatures: BigInt(row.guest_features),
      })
      expect(formatHex(digest)).toBe(String(expected))
    }
  }
})

test('Debian firmware and kernel match sev-snp-measure, for every CPU model and up to 64 vCPUs', async () => {
  const vector = read('snp-debian/digests.json')
  const metadata = metadataOf(vector.firmware)
  for (const row of vector.digests) {
    const kernel: KernelHashes | undefined =
      row.kernel === null
        ? undefined
        : {
            kernel: hex(vector.kernel.sha256),
            initrd: hex(vector.initrds[row.initrd].sha256),
            commandLine: await commandLineHash(row.cmdline),
          }
    const digest = await digestLaunch(hex(vector.firmware.ld_after_firmware), metadata, {
      hypervisor: row.vmm,
      vcpus: row.vcpus,
      rdx: rdxOf(row.vmm, row.vcpu_type),
      sevFeatures: BigInt(row.guest_features),
      ...(kernel && { kernel }),
    })
    expect(formatHex(digest)).toBe(row.launch_digest)
  }
  expect(vector.digests.length).toBe(48)
})

const suffix = readVector('measure/snp-suffix/ovmf_AmdSev_suffix.bin')

async function measure(firmware: Bytes, change: Partial<SnpLaunch> = {}): Promise<string> {
  const parsed = parseFirmware(firmware)
  const digest = await digestLaunch(await digestFirmware(parsed), readSevMetadata(parsed), {
    hypervisor: 'qemu',
    vcpus: 2,
    rdx: cpuSignatures['EPYC-Milan'],
    sevFeatures: 1n,
    kernel: await hashKernel({ kernel: empty, initrd: empty, commandLine: 'ro' }),
    ...change,
  })
  return formatHex(digest)
}

test('a kernel is refused if the firmware has no section for its hashes', async () => {
  const firmware = readVector('measure/snp-suffix/ovmf_OvmfX64_suffix.bin')
  const error = await measure(firmware).catch((cause) => cause)
  expect(error).toMatchObject({ code: 'launch_unsupported' })
  for (const vcpus of [0, 1.5, 513]) {
    const refused = await measure(suffix, { vcpus }).catch((cause) => cause)
    expect(refused).toMatchObject({ code: 'launch_unsupported' })
  }
})

test('any difference in the launch changes the digest', async () => {
  const kernel = await hashKernel({ kernel: empty, initrd: empty, commandLine: 'ro' })
  const other = await sha256(suffix)
  const digests = await Promise.all([
    measure(suffix),
    measure(suffix, { vcpus: 3 }),
    measure(suffix, { rdx: cpuSignatures['EPYC-Turin'] }),
    measure(suffix, { sevFeatures: 0x21n }),
    measure(suffix, { hypervisor: 'ec2' }),
    measure(suffix, { hypervisor: 'gce' }),
    measure(suffix, { kernel: { ...kernel, kernel: other } }),
    measure(suffix, { kernel: { ...kernel, initrd: other } }),
    measure(suffix, {
      kernel: await hashKernel({ kernel: empty, initrd: empty, commandLine: 'ro ' }),
    }),
  ])
  expect(new Set(digests).size).toBe(digests.length)
})

test('a flipped bit in the firmware changes the digest or is refused', async () => {
  const right = await measure(suffix)
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: suffix.length * 8 - 1 }), async (bit) => {
      const changed = suffix.slice()
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const seen = await measure(changed).catch((error) => error.code)
      expect(seen).not.toBe(right)
    }),
    { numRuns: 300 },
  )
})
