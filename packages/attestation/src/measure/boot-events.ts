/** What a TDX guest's firmware and kernel measure on a direct boot by QEMU, in order: RTMR0 to RTMR2. */
import { type Bytes, concatBytes, utf8 } from '../bytes.ts'
import { sha384 } from '../digest.ts'
import type { MeasuredEvent } from './event-log.ts'
import { parseGuid } from './guid.ts'

/**
 * How a value was established: recomputed and found in a quote, derived from source code, or
 * captured from a machine.
 */
export type Basis = 'compared' | 'from source' | 'captured'

export type BootEvent = MeasuredEvent & { readonly name: string; readonly basis: Basis }

/**
 * OVMF before edk2-stable202505 measures less. Even older builds put the second separator into
 * RTMR0; they are not supported.
 */
export type OvmfGeneration = 'before-202505' | 'from-202505'

export type TdxBoot = {
  readonly ovmf: OvmfGeneration
  readonly tdHob: Bytes
  /** The raw bytes of the CFV section. */
  readonly configurationVolume: Bytes
  /** SHA-384 of QEMU's fw_cfg files `etc/table-loader`, `etc/acpi/rsdp` and `etc/acpi/tables`. */
  readonly acpi: { readonly loader: Bytes; readonly rsdp: Bytes; readonly tables: Bytes }
  /**
   * The SHA-384 that the firmware logged for its SMBIOS table; firmware before 202505 does not
   * measure it.
   */
  readonly smbios?: Bytes
  /** The value of SecureBoot; empty if the variable does not exist. */
  readonly secureBoot: Bytes
  readonly kernelAuthenticode: Bytes
  readonly commandLine: string
  readonly initrdSha384: Bytes
}

const globalGuid = parseGuid('8be4df61-93ca-11d2-aa0d-00e098032b8c')
const securityGuid = parseGuid('d719b2cb-3d3a-4596-a3bc-dad00e67656f')
const separator = new Uint8Array(4)
const nothing = new Uint8Array(0)

/**
 * The boot options that OVMF creates for itself: attributes, path length, name, path into a
 * firmware volume.
 */
const bootOptions: { readonly [generation in OvmfGeneration]: readonly Bytes[] } = {
  'before-202505': [bootOption(0x109, 'UiApp', '462caa21-7614-4503-836e-8ab6f4662331')],
  'from-202505': [
    bootOption(0x109, 'BootManagerMenuApp', 'eec25bdc-67f2-4d95-b1d5-f81b2039d11d'),
    bootOption(0x101, 'EFI Firmware Setup', '462caa21-7614-4503-836e-8ab6f4662331'),
  ],
}

export async function listBootEvents(boot: TdxBoot): Promise<BootEvent[]> {
  const isNew = boot.ovmf === 'from-202505'
  const known = (rtmr: MeasuredEvent['rtmr'], name: string, data: Bytes) =>
    measure(rtmr, name, 'compared', data)
  // The machines that were compared had none of these variables.
  const variable = (guid: Bytes, name: string, value = nothing) => {
    const basis = value.length === 0 ? 'compared' : 'from source'
    return measure(0, name, basis, variableEvent(guid, name, value))
  }
  const given = (rtmr: MeasuredEvent['rtmr'], name: string, basis: Basis, digest: Bytes) =>
    Promise.resolve<BootEvent>({ rtmr, name, basis, digest })
  const options = bootOptions[boot.ovmf]
  return Promise.all([
    known(0, 'TD HOB', boot.tdHob),
    known(0, 'CFV', boot.configurationVolume),
    ...(isNew
      ? [
          known(0, 'fw_cfg BootMenu', new Uint8Array(2)),
          known(0, 'fw_cfg bootorder', utf8('/rom@genroms/linuxboot_dma.bin\0')),
        ]
      : []),
    variable(globalGuid, 'SecureBoot', boot.secureBoot),
    variable(globalGuid, 'PK'),
    variable(globalGuid, 'KEK'),
    variable(securityGuid, 'db'),
    variable(securityGuid, 'dbx'),
    known(0, 'separator', separator),
    given(0, 'etc/table-loader', 'from source', boot.acpi.loader),
    given(0, 'etc/acpi/rsdp', 'from source', boot.acpi.rsdp),
    given(0, 'etc/acpi/tables', 'from source', boot.acpi.tables),
    given(1, 'kernel', 'from source', boot.kernelAuthenticode),
    ...(boot.smbios === undefined ? [] : [given(0, 'SMBIOS', 'captured', boot.smbios)]),
    known(0, 'BootOrder', Uint8Array.from(options.flatMap((_, index) => [index, 0]))),
    ...options.map((option, index) => known(0, `Boot000${index}`, option)),
    known(1, 'boot option', utf8('Calling EFI Application from Boot Option')),
    known(1, 'separator', separator),
    measure(2, 'command line', 'from source', loadOptions(boot)),
    given(2, 'initrd', 'from source', boot.initrdSha384),
    known(1, 'exit boot services', utf8('Exit Boot Services Invocation')),
    known(1, 'boot services exited', utf8('Exit Boot Services Returned with Success')),
  ])
}

/**
 * UTF-16LE with its NUL, as passed to the kernel's EFI stub; the firmware adds the location of the
 * initrd.
 */
export function loadOptions(boot: Pick<TdxBoot, 'ovmf' | 'commandLine'>): Bytes {
  const { ovmf, commandLine } = boot
  const text =
    ovmf === 'from-202505' ? `initrd=initrd ${commandLine}` : `${commandLine} initrd=initrd`
  return utf16(`${text}\0`)
}

async function measure(
  rtmr: MeasuredEvent['rtmr'],
  name: string,
  basis: Basis,
  data: Bytes,
): Promise<BootEvent> {
  return { rtmr, name, basis, digest: await sha384(data) }
}

/** UEFI_VARIABLE_DATA (TCG PC Client Platform Firmware Profile, section 10.4.6). */
export function variableEvent(guid: Bytes, name: string, value: Bytes): Bytes {
  const lengths = new Uint8Array(16)
  const view = new DataView(lengths.buffer)
  view.setBigUint64(0, BigInt(name.length), true)
  view.setBigUint64(8, BigInt(value.length), true)
  return concatBytes(guid, lengths, utf16(name), value)
}

/** EFI_LOAD_OPTION with the path of a file in the firmware's own volume. */
function bootOption(attributes: number, name: string, file: string): Bytes {
  const volume = '7cb8bdc9-f8eb-4f34-aaea-3ee4af6516a1'
  const path = concatBytes(
    Uint8Array.of(0x04, 0x07, 0x14, 0x00), // firmware volume
    parseGuid(volume),
    Uint8Array.of(0x04, 0x06, 0x14, 0x00), // file in it
    parseGuid(file),
    Uint8Array.of(0x7f, 0xff, 0x04, 0x00), // end
  )
  const head = new Uint8Array(6)
  const view = new DataView(head.buffer)
  view.setUint32(0, attributes, true)
  view.setUint16(4, path.length, true)
  return concatBytes(head, utf16(`${name}\0`), path)
}

function utf16(text: string): Bytes {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  for (let index = 0; index < text.length; index++) {
    view.setUint16(index * 2, text.charCodeAt(index), true)
  }
  return bytes
}
