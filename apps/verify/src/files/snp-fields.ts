/** Assembles an SNP report from its fields in JSON, as written by the `sev` library. */
import type { Bytes } from './piece.ts'

type Fields = Readonly<Record<string, unknown>>

const reportBytes = 1184

/** Offsets from the SNP ABI, ATTESTATION_REPORT; a number is the length of a byte string. */
const layout: readonly (readonly [string, number, 'u8' | 'u32' | 'u64' | 'tcb' | number])[] = [
  ['version', 0x00, 'u32'],
  ['guest_svn', 0x04, 'u32'],
  ['policy', 0x08, 'u64'],
  ['family_id', 0x10, 16],
  ['image_id', 0x20, 16],
  ['vmpl', 0x30, 'u32'],
  ['sig_algo', 0x34, 'u32'],
  ['current_tcb', 0x38, 'tcb'],
  ['plat_info', 0x40, 'u64'],
  ['_author_key_en', 0x48, 'u32'], // the older name of key_info
  ['key_info', 0x48, 'u32'],
  ['report_data', 0x50, 64],
  ['measurement', 0x90, 48],
  ['host_data', 0xc0, 32],
  ['id_key_digest', 0xe0, 48],
  ['author_key_digest', 0x110, 48],
  ['report_id', 0x140, 32],
  ['report_id_ma', 0x160, 32],
  ['reported_tcb', 0x180, 'tcb'],
  ['cpuid_fam_id', 0x188, 'u8'],
  ['cpuid_mod_id', 0x189, 'u8'],
  ['cpuid_step', 0x18a, 'u8'],
  ['chip_id', 0x1a0, 64],
  ['committed_tcb', 0x1e0, 'tcb'],
  ['current_build', 0x1e8, 'u8'],
  ['current_minor', 0x1e9, 'u8'],
  ['current_major', 0x1ea, 'u8'],
  ['committed_build', 0x1ec, 'u8'],
  ['committed_minor', 0x1ed, 'u8'],
  ['committed_major', 0x1ee, 'u8'],
  ['launch_tcb', 0x1f0, 'tcb'],
  ['launch_mit_vector', 0x1f8, 'u64'],
  ['current_mit_vector', 0x200, 'u64'],
  ['signature_r', 0x2a0, 72],
  ['signature_s', 0x2e8, 72],
]

/** Undefined if the object is not a report. Absent fields stay zero. */
export function formatSnpFields(object: Fields): Bytes | undefined {
  const { signature, measurement, current, committed } = object
  if (!isFields(signature) || !Array.isArray(measurement)) return undefined
  const fields: Fields = {
    ...object,
    ...prefixed('signature', signature),
    ...prefixed('current', current),
    ...prefixed('committed', committed),
  }
  const report = new Uint8Array(reportBytes)
  for (const [name, offset, form] of layout) {
    const value = fields[name]
    if (value !== undefined && value !== null) report.set(formatField(value, form), offset)
  }
  return report
}

function formatField(value: unknown, form: 'u8' | 'u32' | 'u64' | 'tcb' | number): Bytes {
  switch (form) {
    case 'u8':
      return littleEndian(value, 1)
    case 'u32':
      return littleEndian(value, 4)
    case 'u64':
      return littleEndian(value, 8)
    case 'tcb':
      return formatTcb(isFields(value) ? value : {})
    default:
      return Uint8Array.from(Array.isArray(value) ? value.slice(0, form).map(Number) : [])
  }
}

/** Turin has an additional component and a different order (SNP ABI, TCB_VERSION). */
function formatTcb({ fmc, bootloader, tee, snp, microcode }: Fields): Bytes {
  const order =
    typeof fmc === 'number'
      ? [fmc, bootloader, tee, snp, 0, 0, 0, microcode]
      : [bootloader, tee, 0, 0, 0, 0, snp, microcode]
  return Uint8Array.from(order.map((level) => Number(level ?? 0)))
}

function littleEndian(value: unknown, length: number): Bytes {
  const bytes = new Uint8Array(8)
  const number = typeof value === 'number' && Number.isSafeInteger(value) ? value : 0
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number), true)
  return bytes.slice(0, length)
}

/** `{ build: 1 }` under `current` becomes `current_build`, as in older versions of the library. */
function prefixed(prefix: string, value: unknown): Fields {
  if (!isFields(value)) return {}
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [`${prefix}_${name}`, part]),
  )
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
