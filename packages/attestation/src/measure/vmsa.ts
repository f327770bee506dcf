/**
 * The initial state of a virtual CPU (VMCB save area, AMD64 APM volume 2, table B-4) as each
 * hypervisor sets it.
 */
import type { Bytes } from '../bytes.ts'
import { pageBytes } from './firmware-table.ts'

export const hypervisors = ['qemu', 'ec2', 'gce'] as const
export type Hypervisor = (typeof hypervisors)[number]

/** CPUID leaf 1, EAX, for each `-cpu` model, by QEMU's name for it. */
export const cpuSignatures = {
  'EPYC-v4': 0x800f12,
  'EPYC-Milan': 0xa00f11,
  'EPYC-Genoa': 0xa10f10,
  'EPYC-Turin': 0xb00f00,
} as const
export type CpuModel = keyof typeof cpuSignatures

export type VcpuState = {
  readonly hypervisor: Hypervisor
  readonly isFirst: boolean
  readonly eip: number
  /** Reset value of RDX; QEMU passes the CPU's signature. */
  readonly rdx: number
  readonly sevFeatures: bigint
}

/** Where the first CPU starts: the reset vector. */
export const firstEip = 0xfffffff0

type Segment = { readonly at: number; readonly attributes: number }

export function writeVmsa(state: VcpuState): Bytes {
  const page = new Uint8Array(pageBytes)
  const view = new DataView(page.buffer)
  const quirks = quirksOf(state)
  const segment = ({ at, attributes }: Segment, selector = 0, base = 0) => {
    view.setUint16(at, selector, true)
    view.setUint16(at + 2, attributes, true)
    view.setUint32(at + 4, 0xffff, true)
    view.setBigUint64(at + 8, BigInt(base), true)
  }
  const u64 = (at: number, value: number | bigint) => view.setBigUint64(at, BigInt(value), true)
  for (const at of [0x00, 0x30, 0x40, 0x50]) segment({ at, attributes: 0x93 }) // ES, DS, FS, GS
  segment({ at: 0x10, attributes: quirks.cs }, 0xf000, (state.eip & 0xffff0000) >>> 0)
  segment({ at: 0x20, attributes: quirks.ss })
  segment({ at: 0x60, attributes: 0 }) // GDTR
  segment({ at: 0x70, attributes: 0x82 }) // LDTR
  segment({ at: 0x80, attributes: 0 }) // IDTR
  segment({ at: 0x90, attributes: quirks.tr })
  u64(0xd0, 0x1000) // EFER.SVME
  u64(0x148, 0x40) // CR4.MCE
  u64(0x158, 0x10) // CR0.ET
  u64(0x160, 0x400) // DR7
  u64(0x168, 0xffff0ff0) // DR6
  u64(0x170, 2) // RFLAGS
  u64(0x178, state.eip & 0xffff) // RIP
  u64(0x268, quirks.guestPat)
  u64(0x310, state.rdx)
  u64(0x3b0, state.sevFeatures)
  u64(0x3e8, 1) // XCR0
  view.setUint32(0x408, quirks.mxcsr, true)
  view.setUint16(0x410, quirks.fcw, true)
  return page
}

type Quirks = {
  readonly cs: number
  readonly ss: number
  readonly tr: number
  readonly guestPat: bigint
  readonly mxcsr: number
  readonly fcw: number
}

function quirksOf({ hypervisor, isFirst }: VcpuState): Quirks {
  const usualPat = 0x0007040600070406n
  switch (hypervisor) {
    case 'qemu': // on host kernels 6.10 and later, which set MXCSR and FCW
      return { cs: 0x9b, ss: 0x93, tr: 0x8b, guestPat: usualPat, mxcsr: 0x1f80, fcw: 0x37f }
    case 'ec2':
      return { cs: isFirst ? 0x9a : 0x9b, ss: 0x92, tr: 0x83, guestPat: usualPat, mxcsr: 0, fcw: 0 }
    case 'gce':
      return { cs: 0x9b, ss: 0x93, tr: 0x8b, guestPat: 0x00070106n, mxcsr: 0, fcw: 0 }
  }
}
