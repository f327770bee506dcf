/** Decides whether the manifest accepts an authentic TDX machine. */

import type { Transcript } from '../verdict.ts'
import { requireCrl } from '../x509/crl-rule.ts'
import type { TdxClaims } from './claims.ts'
import type { TdxMeasurements, TdxRule } from './rule.ts'
import type { TcbStatus } from './tcb-status.ts'

export function appraiseTdx(claims: TdxClaims, rule: TdxRule, transcript: Transcript): void {
  requireServiceTd(claims, rule.mrServiceTd, transcript)
  requireTcb(claims, rule.acceptedTcbStatuses, transcript)
  requireEvaluation(claims, rule, transcript)
  requireMeasurements(claims, rule.measurements, transcript)
  requireListed(claims.tdAttributes, [rule.tdAttributes], 'td-attributes', transcript)
  requireListed(claims.xfam, [rule.xfam], 'xfam', transcript)
  requireListed(claims.mrSeam, rule.mrSeam, 'mr-seam', transcript)
  requireListed(claims.mrConfigId, asList(rule.mrConfigId), 'mr-config-id', transcript)
  requireListed(claims.mrOwner, asList(rule.mrOwner), 'mr-owner', transcript)
  requireListed(claims.mrOwnerConfig, asList(rule.mrOwnerConfig), 'mr-owner-config', transcript)
  requirePlatform(claims, rule.platformIds, transcript)
  requireCrl(claims.crls.root, rule.rootCrl, transcript, 'tdx/root-crl')
  requireCrl(claims.crls.pck, rule.pckCrl, transcript, 'tdx/pck-crl')
}

/** What every manifest requires, and all that can be checked without one. */
export function appraiseTdxWithoutManifest(claims: TdxClaims, transcript: Transcript): void {
  requireServiceTd(claims, undefined, transcript)
  requireTcb(claims, [], transcript)
}

function requireServiceTd(
  claims: TdxClaims,
  serviceTd: string | undefined,
  transcript: Transcript,
): void {
  if (claims.mrServiceTd === undefined) {
    const reason = 'the quote has no field for service TDs'
    if (serviceTd === undefined) transcript.skip('tdx/service-td', reason)
    else transcript.fail('tdx/service-td', 'measurement_unknown', reason)
    return
  }
  const expected = serviceTd ?? '0'.repeat(claims.mrServiceTd.length)
  transcript.require(
    claims.mrServiceTd === expected,
    'tdx/service-td',
    serviceTd === undefined ? 'migration_enabled' : 'measurement_unknown',
    `MRSERVICETD ${claims.mrServiceTd}, expected ${expected}`,
  )
}

function requireTcb(
  claims: TdxClaims,
  accepted: readonly TcbStatus[],
  transcript: Transcript,
): void {
  const { status, advisoryIds } = claims.tcb
  const isListed = status === 'UpToDate' || (status !== 'Revoked' && accepted.includes(status))
  const listed = ['UpToDate', ...accepted].join(', ')
  transcript.require(
    isListed,
    'tdx/tcb-accepted',
    'tcb_unlisted',
    `TCB is ${status} (${advisoryIds.join(', ') || 'no advisories'}), accepted: ${listed}`,
  )
}

function requireEvaluation(claims: TdxClaims, rule: TdxRule, transcript: Transcript): void {
  const least = rule.minTcbEvaluationDataNumber
  const { evaluationDataNumber, qeEvaluationDataNumber } = claims.tcb
  for (const [id, what, seen] of [
    ['tdx/tcb-evaluation', 'TCB info', evaluationDataNumber],
    ['tdx/qe-evaluation', 'QE identity', qeEvaluationDataNumber],
  ] as const) {
    const detail = `${what} of evaluation ${seen}, minimum ${least ?? 'none: the prover chose it'}`
    if (least === undefined) transcript.skip(id, detail)
    else transcript.require(seen >= least, id, 'tcb_too_old', detail)
  }
}

/** Genuine hardware need not be the operator's: a rule may list its machines. */
function requirePlatform(
  { platformIds }: TdxClaims,
  listed: readonly string[] | undefined,
  transcript: Transcript,
): void {
  const id = 'tdx/listed-platform'
  const seen = platformIds.join(' or ') || 'without identity'
  if (listed === undefined) {
    transcript.skip(id, `the manifest lists none; it is ${seen}`)
    return
  }
  transcript.require(
    platformIds.some((platformId) => listed.includes(platformId)),
    id,
    'policy_refused',
    `platform is ${seen}, manifest lists ${listed.join(', ')}`,
  )
}

function requireMeasurements(
  claims: TdxClaims,
  listed: readonly TdxMeasurements[],
  transcript: Transcript,
): void {
  const { mrTd, rtmr0, rtmr1, rtmr2, rtmr3 } = claims
  const matches = listed.some(
    (entry) =>
      entry.mrTd === mrTd &&
      entry.rtmr0 === rtmr0 &&
      entry.rtmr1 === rtmr1 &&
      entry.rtmr2 === rtmr2 &&
      (entry.rtmr3 === undefined || entry.rtmr3 === rtmr3),
  )
  transcript.require(
    matches,
    'tdx/measurements',
    'measurement_unknown',
    `MRTD ${mrTd}, RTMRs ${[rtmr0, rtmr1, rtmr2, rtmr3].join(' ')}; the manifest lists ${listed.length} sets`,
  )
}

function requireListed(
  seen: string,
  accepted: readonly string[] | undefined,
  name: string,
  transcript: Transcript,
): void {
  const id = `tdx/${name}`
  if (accepted === undefined) {
    transcript.skip(id, `the manifest does not pin it; it is ${seen}`)
    return
  }
  const isFlags = name === 'td-attributes' || name === 'xfam'
  const code = isFlags ? 'policy_refused' : 'measurement_unknown'
  const detail = `${seen}, expected ${accepted.join(' or ')}`
  transcript.require(accepted.includes(seen), id, code, detail)
}

const asList = (value: string | undefined) => (value === undefined ? undefined : [value])
