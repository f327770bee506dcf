/** What a manifest demands of an SEV-SNP machine. */
import type { Fields } from '../fields.ts'
import { type CrlRule, readCrlRule } from '../x509/crl-rule.ts'
import {
  type ClosedPlatformFlag,
  type ClosedPolicyFlag,
  closedPlatformFlags,
  closedPolicyFlags,
  type OpenPlatformFlag,
  type OpenPolicyFlag,
  openPlatformFlags,
  openPolicyFlags,
} from './claims.ts'
import {
  componentsOf,
  type SnpProduct,
  snpProducts,
  type TcbComponent,
  type TcbLevels,
} from './product.ts'
import type { SnpSigner } from './report.ts'

export type SnpRule = {
  /** Hex, 48 bytes each; any one of them is accepted. */
  readonly measurements: readonly string[]
  /** The accepted products, each with its minimum for the reported, committed and launch TCB. */
  readonly minimumTcb: Readonly<Partial<Record<SnpProduct, TcbLevels>>>
  readonly signers: readonly SnpSigner[]
  /** The providers whose VLEKs are accepted; all machines of a provider share one. */
  readonly cspIds: readonly string[]
  readonly vmpl: number
  /** Hex, 32 bytes; undefined leaves it open. */
  readonly hostData: string | undefined
  /** Hex, 64 bytes each: the accepted machines; undefined accepts every genuine one. */
  readonly chipIds: readonly string[] | undefined
  /** Hex, 48 bytes each: the key that signed the guest's ID block, and the key that certified it. */
  readonly idKeyDigests: readonly string[] | undefined
  readonly authorKeyDigests: readonly string[] | undefined
  /** Requirements on AMD's revocation list. */
  readonly crl: CrlRule | undefined
  readonly guestPolicy: FlagRule<OpenPolicyFlag, ClosedPolicyFlag>
  readonly platform: FlagRule<OpenPlatformFlag, ClosedPlatformFlag>
}

/** Flags that weaken a machine are refused unless allowed; those that protect it may be required. */
export type FlagRule<Open, Closed> = {
  readonly allow: readonly Open[]
  readonly require: readonly Closed[]
  /** By number, for bits that had no name when the rule was written; a later client may know one. */
  readonly allowBits: readonly number[]
}

/** Parses the members of a rule of kind `snp`; the caller refuses unknown ones. */
export function readSnpRule(fields: Fields): SnpRule {
  const signers = readChoices(fields, 'signers', ['vcek', 'vlek'] as const, 1)
  return {
    measurements: fields.array('measurements', { min: 1, max: 64 }, (item) => {
      if (typeof item === 'string' && /^[0-9a-f]{96}$/.test(item)) return item
      return fields.refuse('measurements', 'expected 48 bytes in lower-case hex')
    }),
    minimumTcb: fields.object('minimum_tcb', readMinimumTcb),
    signers,
    cspIds: signers.includes('vlek') ? readCspIds(fields) : [],
    vmpl: fields.optional('vmpl', (name) => fields.integer(name, { min: 0, max: 3 })) ?? 0,
    hostData: fields.optional('host_data', (name) => fields.hex(name, 32)),
    chipIds: readChipIds(fields, signers),
    idKeyDigests: readDigests(fields, 'id_key_digests'),
    authorKeyDigests: readDigests(fields, 'author_key_digests'),
    crl: readCrlRule(fields, 'crl'),
    guestPolicy: fields.object('guest_policy', (inner) => ({
      allow: readChoices(inner, 'allow', openPolicyFlags, 0),
      require: readChoices(inner, 'require', closedPolicyFlags, 0),
      allowBits: readBits(inner, 16),
    })),
    platform: fields.object('platform', (inner) => ({
      allow: readChoices(inner, 'allow', openPlatformFlags, 0),
      require: readChoices(inner, 'require', closedPlatformFlags, 0),
      allowBits: readBits(inner, 0),
    })),
  }
}

// In a VLEK-signed report, the chip id is only a claim by the holder of that key, who can sign for
// any machine.
function readChipIds(fields: Fields, signers: readonly SnpSigner[]): string[] | undefined {
  const chipIds = fields.optional('chip_ids', (name) =>
    fields.hexes(name, 64, { min: 1, max: 256 }),
  )
  if (chipIds !== undefined && signers.includes('vlek')) {
    fields.refuse('chip_ids', 'a VLEK is not certified for a chip; list only vcek as signer')
  }
  return chipIds
}

// Zeros mean that there was no such key: a rule that lists them would accept anyone's guest.
function readDigests(fields: Fields, name: string): string[] | undefined {
  const digests = fields.optional(name, () => fields.hexes(name, 48, { min: 1, max: 16 }))
  if (digests?.some((digest) => /^0+$/.test(digest))) fields.refuse(name, 'zeros name no key')
  return digests
}

function readBits(fields: Fields, least: number): number[] {
  const bits = fields.optional('allow_bits', (name) =>
    fields.array(name, { min: 0, max: 64 }, (item) => {
      const isBit = Number.isInteger(item) && Number(item) >= least && Number(item) <= 63
      if (!isBit) fields.refuse(name, `expected numbers from ${least} to 63`)
      return Number(item)
    }),
  )
  return bits ?? []
}

function readMinimumTcb(fields: Fields): SnpRule['minimumTcb'] {
  const minimum: Partial<Record<SnpProduct, TcbLevels>> = {}
  for (const product of snpProducts) {
    const levels = fields.optional(product, (name) =>
      fields.object(name, (inner) => readLevels(inner, product)),
    )
    if (levels) minimum[product] = levels
  }
  if (Object.keys(minimum).length === 0) fields.refuse(snpProducts.join(' or '), 'missing')
  return minimum
}

/** Every component must be named: omitting one would leave it undecided. */
function readLevels(fields: Fields, product: SnpProduct): TcbLevels {
  const levels: Partial<Record<TcbComponent, number>> = {}
  for (const component of componentsOf(product)) {
    levels[component] = fields.integer(component, { min: 0, max: 255 })
  }
  return levels
}

function readCspIds(fields: Fields): string[] {
  return fields.array('csp_ids', { min: 1, max: 16 }, (item) => {
    if (typeof item === 'string' && /^[\x20-\x7e]{1,256}$/.test(item)) return item
    return fields.refuse('csp_ids', 'expected 1 to 256 printable characters')
  })
}

function readChoices<const T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
  min: number,
): T[] {
  const chosen = fields.array(name, { min, max: choices.length }, (item) => {
    const choice = choices.find((known) => known === item)
    return choice ?? fields.refuse(name, `expected ${choices.join(' or ')}`)
  })
  if (new Set(chosen).size !== chosen.length) fields.refuse(name, 'an item occurs twice')
  return chosen
}
