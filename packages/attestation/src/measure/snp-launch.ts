/**
 * Computes the launch digest of an SEV-SNP guest (SNP ABI, SNP_LAUNCH_UPDATE): the MEASUREMENT in
 * its reports.
 */
import { type Bytes, concatBytes } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import { type Firmware, pageBytes } from './firmware-table.ts'
import { type KernelHashes, writeHashPage } from './kernel-hashes.ts'
import { MeasureError } from './measure-error.ts'
import type { SevMetadata, SevSection } from './sev-metadata.ts'
import { firstEip, type Hypervisor, writeVmsa } from './vmsa.ts'

export type SnpLaunch = {
  readonly hypervisor: Hypervisor
  readonly vcpus: number
  readonly rdx: number
  readonly sevFeatures: bigint
  /** If absent, the firmware boots from a disk, and the digest does not cover what it boots. */
  readonly kernel?: KernelHashes
}

export const maxVcpus = 512

/** KVM uses this address for the pages of all virtual CPUs. */
const vmsaAt = 0xfffffffff000n

/** SNP ABI, PAGE_TYPE. */
const pageTypes = { normal: 1, vmsa: 2, zero: 3, unmeasured: 4, secrets: 5, cpuid: 6 } as const
type PageType = keyof typeof pageTypes

const zeroDigest = new Uint8Array(48)

/** The digest after the firmware's pages, which come first. */
export async function digestFirmware({ bytes, base }: Firmware): Promise<Bytes> {
  let digest: Bytes = zeroDigest
  for (let offset = 0; offset < bytes.length; offset += pageBytes) {
    const contents = await sha384(bytes.subarray(offset, offset + pageBytes))
    digest = await update(digest, 'normal', BigInt(base + offset), contents)
  }
  return digest
}

/** Continues from the digest of the firmware's pages, so firmware known only by its digest is sufficient. */
export async function digestLaunch(
  firmwareDigest: Bytes,
  metadata: SevMetadata,
  launch: SnpLaunch,
): Promise<Bytes> {
  if (!Number.isInteger(launch.vcpus) || launch.vcpus < 1 || launch.vcpus > maxVcpus) {
    unsupported(`${launch.vcpus} vCPUs, expected 1 to ${maxVcpus}`)
  }
  requirePlaceForHashes(metadata, launch)
  let digest = firmwareDigest
  for (const section of orderSections(metadata.sections, launch.hypervisor)) {
    digest = await updateSection(digest, section, metadata, launch)
  }
  const states = await Promise.all(
    [true, false].map((isFirst) =>
      sha384(writeVmsa({ ...launch, isFirst, eip: isFirst ? firstEip : metadata.resetEip })),
    ),
  )
  for (let vcpu = 0; vcpu < launch.vcpus; vcpu++) {
    digest = await update(digest, 'vmsa', vmsaAt, states[vcpu === 0 ? 0 : 1] ?? zeroDigest)
  }
  return digest
}

/** A kernel whose hashes are not measured would boot under any digest. */
function requirePlaceForHashes(
  { sections, hashTableAt }: SevMetadata,
  { kernel }: SnpLaunch,
): void {
  if (kernel === undefined) return
  const pages = sections.filter(({ kind }) => kind === 'kernel-hashes')
  const [page] = pages
  if (pages.length !== 1 || page === undefined || hashTableAt === undefined) {
    unsupported('the firmware has no section for the hashes of a kernel')
  }
  if (page.size !== pageBytes || hashTableAt < page.at || hashTableAt >= page.at + pageBytes) {
    unsupported('the hash table is outside of its section')
  }
}

function orderSections(sections: readonly SevSection[], hypervisor: Hypervisor): SevSection[] {
  if (hypervisor !== 'ec2') return [...sections]
  const isCpuid = ({ kind }: SevSection) => kind === 'cpuid'
  return [...sections.filter((section) => !isCpuid(section)), ...sections.filter(isCpuid)]
}

async function updateSection(
  before: Bytes,
  section: SevSection,
  { hashTableAt }: SevMetadata,
  { hypervisor, kernel }: SnpLaunch,
): Promise<Bytes> {
  if (section.kind === 'kernel-hashes' && kernel !== undefined && hashTableAt !== undefined) {
    const page = await sha384(writeHashPage(kernel, hashTableAt))
    return update(before, 'normal', BigInt(section.at), page)
  }
  let digest = before
  for (let offset = 0; offset < section.size; offset += pageBytes) {
    digest = await update(digest, pageType(section, hypervisor), BigInt(section.at + offset))
  }
  return digest
}

function pageType({ kind }: SevSection, hypervisor: Hypervisor): PageType {
  switch (kind) {
    case 'memory':
      return hypervisor === 'gce' ? 'unmeasured' : 'zero'
    case 'secrets':
      return 'secrets'
    case 'cpuid':
      return 'cpuid'
    case 'svsm-caa':
    case 'kernel-hashes':
      return 'zero'
  }
}

const pageInfoBytes = 0x70

/** SNP ABI, PAGE_INFO: the previous digest, that of the contents, the page type and its address. */
async function update(
  digest: Bytes,
  type: PageType,
  at: bigint,
  contents: Bytes = zeroDigest,
): Promise<Bytes> {
  const info = concatBytes(digest, contents, new Uint8Array(16))
  const view = new DataView(info.buffer)
  view.setUint16(0x60, pageInfoBytes, true)
  view.setUint8(0x62, pageTypes[type])
  view.setBigUint64(0x68, at, true)
  return sha384(info)
}

function unsupported(message: string): never {
  throw new MeasureError('launch_unsupported', message)
}
