/** Appraises SEV-SNP claims: does a rule of the manifest accept this machine and what it runs? */
import type { Transcript } from '../verdict.ts'
import { requireCrl } from '../x509/crl-rule.ts'
import {
  closedPlatformFlags,
  closedPolicyFlags,
  type FlagField,
  platformBits,
  policyBits,
  type SnpClaims,
} from './claims.ts'
import { componentsOf, formatTcb } from './product.ts'
import type { FlagRule, SnpRule } from './rule.ts'

/** Refuses with the code of the first unmet requirement. */
export function appraiseSnp(claims: SnpClaims, rule: SnpRule, transcript: Transcript): void {
  appraiseSnpWithoutManifest(claims, transcript)
  transcript.require(
    rule.measurements.includes(claims.measurement),
    'snp/measurement',
    'measurement_unknown',
    `measurement ${claims.measurement}, manifest lists ${rule.measurements.join(', ')}`,
  )
  requireSigner(claims, rule, transcript)
  requireTcb(claims, rule, transcript)
  transcript.require(
    claims.vmpl === rule.vmpl,
    'snp/vmpl',
    'policy_refused',
    `vmpl is ${claims.vmpl}, manifest expects ${rule.vmpl}`,
  )
  if (rule.hostData === undefined) {
    transcript.skip('snp/host-data', 'the manifest leaves it open')
  } else {
    transcript.require(
      claims.hostData === rule.hostData,
      'snp/host-data',
      'policy_refused',
      `host data ${claims.hostData}, manifest expects ${rule.hostData}`,
    )
  }
  requireMachine(claims, rule, transcript)
  requireCrl(claims.crl, rule.crl, transcript, 'snp/crl')
  requireFlags(claims.policy, policyBits, rule.guestPolicy, transcript, 'snp/guest-policy')
  requireFlags(claims.platform, platformBits, rule.platform, transcript, 'snp/platform')
}

/** Which machine it is, and who launched the guest: genuine hardware need not be the operator's. */
function requireMachine(claims: SnpClaims, rule: SnpRule, transcript: Transcript): void {
  const { chipId, idKeyDigest, authorKeyDigest } = claims
  requireListed(chipId ?? 'masked', rule.chipIds, 'snp/listed-chip', transcript)
  requireListed(idKeyDigest, rule.idKeyDigests, 'snp/id-key', transcript)
  requireListed(authorKeyDigest, rule.authorKeyDigests, 'snp/author-key', transcript)
}

function requireListed(
  seen: string,
  listed: readonly string[] | undefined,
  id: string,
  transcript: Transcript,
): void {
  if (listed === undefined) {
    transcript.skip(id, `the manifest lists none; it is ${seen}`)
    return
  }
  const detail = `${seen}, manifest lists ${listed.join(', ')}`
  transcript.require(listed.includes(seen), id, 'policy_refused', detail)
}

/** What every manifest requires, and all that can be checked without one: a protected guest. */
export function appraiseSnpWithoutManifest(claims: SnpClaims, transcript: Transcript): void {
  transcript.require(
    !claims.policy.flags.includes('debug'),
    'snp/debug',
    'debug_enabled',
    'policy bit 19 (the host may decrypt memory) must be zero',
  )
  transcript.require(
    !claims.policy.flags.includes('migration_agent'),
    'snp/migration-agent',
    'migration_enabled',
    'policy bit 18 (a migration agent may move the guest) must be zero',
  )
}

function requireSigner(claims: SnpClaims, rule: SnpRule, transcript: Transcript): void {
  transcript.require(
    rule.signers.includes(claims.signer),
    'snp/allowed-signer',
    'policy_refused',
    `report is signed by a ${claims.signer}, manifest accepts ${rule.signers.join(', ')}`,
  )
  if (claims.signer !== 'vlek') return
  transcript.require(
    claims.cspId !== undefined && rule.cspIds.includes(claims.cspId),
    'snp/csp-id',
    'policy_refused',
    `vlek of ${JSON.stringify(claims.cspId)}, manifest accepts ${rule.cspIds.join(', ')}`,
  )
}

function requireTcb(claims: SnpClaims, rule: SnpRule, transcript: Transcript): void {
  const minimum = rule.minimumTcb[claims.product]
  if (!minimum) {
    const listed = Object.keys(rule.minimumTcb).join(', ')
    const detail = `product is ${claims.product}, manifest accepts ${listed}`
    transcript.fail('snp/allowed-product', 'policy_refused', detail)
  }
  transcript.pass('snp/allowed-product', claims.product)
  // The launch TCB too: a guest started on old firmware stays compromised after an update.
  for (const which of ['reported', 'committed', 'launch'] as const) {
    const levels = claims.tcb[which]
    const enough = componentsOf(claims.product).every(
      (component) => (levels[component] ?? -1) >= (minimum[component] ?? Number.POSITIVE_INFINITY),
    )
    transcript.require(
      enough,
      `snp/${which}-tcb-minimum`,
      'tcb_too_old',
      `${which} TCB is ${formatTcb(levels)}, manifest expects at least ${formatTcb(minimum)}`,
    )
  }
}

function requireFlags<Open extends string, Closed extends string>(
  field: FlagField<string>,
  names: Readonly<Record<number, string>>,
  rule: FlagRule<Open, Closed>,
  transcript: Transcript,
  id: string,
): void {
  const closed: readonly string[] = [...closedPolicyFlags, ...closedPlatformFlags]
  const allowed: readonly (string | undefined)[] = [
    ...rule.allow,
    ...rule.allowBits.map((bit) => names[bit]),
  ]
  const open = field.flags.filter((flag) => !closed.includes(flag) && !allowed.includes(flag))
  const missing = rule.require.filter((flag) => !field.flags.includes(flag))
  const faults = [
    ...open.map((flag) => `${flag} is set and not allowed`),
    ...missing.map((flag) => `${flag} is required and not set`),
    // A bit without a name might weaken the protection.
    ...field.unknownBits
      .filter((bit) => !rule.allowBits.includes(bit))
      .map((bit) => `bit ${bit} is set and unknown; allow_bits may list it`),
  ]
  transcript.require(
    faults.length === 0,
    id,
    'policy_refused',
    faults.join('; ') || `flags ${field.flags.join(', ') || 'none'} are acceptable`,
  )
}
