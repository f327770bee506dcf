/** AMD's product lines: how reports and certificates name them, and how each encodes its TCB. */
import type { Bytes } from '../bytes.ts'
import { AttestationError } from '../verdict.ts'

export const snpProducts = ['Milan', 'Genoa', 'Turin'] as const
export type SnpProduct = (typeof snpProducts)[number]

export const tcbComponents = ['fmc', 'bootloader', 'tee', 'snp', 'microcode'] as const
export type TcbComponent = (typeof tcbComponents)[number]

/** Security versions by component; a product without FMC has no `fmc`. */
export type TcbLevels = Readonly<Partial<Record<TcbComponent, number>>>

// SNP ABI, TCB_VERSION: the byte of each component; the other bytes are reserved.
const earlyLayout = { bootloader: 0, tee: 1, snp: 6, microcode: 7 }
const tcbLayouts: Readonly<Record<SnpProduct, Readonly<Partial<Record<TcbComponent, number>>>>> = {
  Milan: earlyLayout,
  Genoa: earlyLayout,
  Turin: { fmc: 0, bootloader: 1, tee: 2, snp: 3, microcode: 7 },
}

/** The components that this product reports, in order. */
export const componentsOf = (product: SnpProduct): readonly TcbComponent[] =>
  tcbComponents.filter((component) => tcbLayouts[product][component] !== undefined)

/** Throws `evidence_malformed` if a reserved byte is set: it may be a version we do not compare. */
export function parseTcb(bytes: Bytes, product: SnpProduct): TcbLevels {
  const levels: Partial<Record<TcbComponent, number>> = {}
  const reserved = new Set(bytes.keys())
  for (const component of componentsOf(product)) {
    const offset = tcbLayouts[product][component] ?? 0
    levels[component] = bytes[offset] ?? 0
    reserved.delete(offset)
  }
  for (const offset of reserved) {
    if (bytes[offset] !== 0) {
      throw new AttestationError('evidence_malformed', `reserved byte ${offset} of the TCB is set`)
    }
  }
  return levels
}

export const formatTcb = (levels: TcbLevels): string =>
  tcbComponents
    .filter((component) => levels[component] !== undefined)
    .map((component) => `${component} ${levels[component]}`)
    .join(', ')

/** Undefined for processors outside the known lines. */
export function productOfCpu(family: number, model: number): SnpProduct | undefined {
  if (family === 0x19 && model <= 0x0f) return 'Milan'
  if (family === 0x19 && model >= 0x10 && model <= 0x1f) return 'Genoa'
  // Bergamo and Siena are certified as Genoa.
  if (family === 0x19 && model >= 0xa0 && model <= 0xaf) return 'Genoa'
  if (family === 0x1a) return 'Turin'
  return undefined
}

/** From the product name in a certificate, such as `Milan-B0` or `Genoa`. */
export function productOfName(name: string): SnpProduct | undefined {
  const [line] = name.split('-')
  return snpProducts.find((product) => product === line)
}
