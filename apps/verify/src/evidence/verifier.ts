/** Runs one kind of evidence through authentication, the unconditional rules, and a manifest. */
import {
  AttestationError,
  type Check,
  type Manifest,
  type RevocationState,
  readRevocationState,
  requireUnexpired,
  Transcript,
} from '@privatemode/attestation'
import { UsageError } from '../command.ts'
import { maxReports } from '../files/find-reports.ts'
import type { Bytes } from '../files/piece.ts'
import { type Inputs, requireGivenFiles } from './inputs.ts'
import type { Appraisal, Verdict } from './verdict.ts'

export type Verifier<Evidence, Claims> = {
  /** The reports in the file; each must be authentic. */
  readonly findReports: (inputs: Inputs) => readonly Bytes[]
  /**
   * The possible combinations of a report with what came with it, such as which of two certificates
   * is its signer's. Each is verified in full; one valid combination is enough.
   */
  readonly assemble: (report: Bytes, inputs: Inputs) => readonly Evidence[]
  readonly authenticate: (
    evidence: Evidence,
    inputs: Inputs,
    transcript: Transcript,
  ) => Promise<Claims>
  /** What must hold for any manifest; the only appraisal without one. */
  readonly requireAlways: (claims: Claims, transcript: Transcript) => void
  /** What the report claims, if it was refused. */
  readonly inspect: (evidence: Evidence, inputs: Inputs) => unknown
  readonly appraise: (claims: Claims, inputs: Inputs, transcript: Transcript) => void
  /** What a manifest requires of all reports in a file together. */
  readonly requireTogether?: (
    claims: readonly Claims[],
    inputs: Inputs,
    transcript: Transcript,
  ) => void
}

/** As many as there can be signers of one call's reports; a wrong one fails at its signature. */
const maxVariants = 64

export async function verify<Evidence, Claims>(
  verifier: Verifier<Evidence, Claims>,
  inputs: Inputs,
): Promise<Verdict> {
  const found = verifier.findReports(inputs)
  if (found.length > maxReports) {
    throw new UsageError(`the file holds more than ${maxReports} reports; give fewer at a time`)
  }
  // Nothing found: let the verifier explain what is wrong with the bytes.
  const reports = found.length > 0 ? found : inputs.unknownReports
  if (reports.length === 0) return nothingFound(inputs)
  const outcomes: Outcome<Claims>[] = []
  for (const report of reports) outcomes.push(await verifyReport(verifier, report, inputs))
  return summarize([...outcomes, ...appraiseTogether(verifier, outcomes, inputs)], inputs)
}

/** Only for authentic reports, each of which the manifest accepts. */
function appraiseTogether<Evidence, Claims>(
  { requireTogether }: Verifier<Evidence, Claims>,
  outcomes: readonly Outcome<Claims>[],
  inputs: Inputs,
): Outcome<Claims>[] {
  const isAccepted = ({ appraisal }: Outcome<Claims>) => appraisal?.accepted === true
  if (requireTogether === undefined || inputs.manifest === undefined) return []
  if (!outcomes.every(isAccepted)) return []
  const transcript = new Transcript()
  try {
    requireTogether(
      outcomes.map(({ claims }) => claims as Claims),
      inputs,
      transcript,
    )
    return [{ claims: undefined, checks: transcript.checks }]
  } catch (error) {
    const appraisal = { accepted: false, ...refusalOf(error) } as const
    return [{ claims: undefined, checks: transcript.checks, appraisal }]
  }
}

function nothingFound({ report }: Inputs): Verdict {
  const others = new Set(report.map(({ kind }) => reportNames[kind]).filter(Boolean))
  const message =
    others.size === 0
      ? 'the file holds no report in any form that is known'
      : `the file holds ${[...others].join(' and ')}, not a report of this --type`
  const check = { id: 'evidence/file', result: 'failed', detail: message } as const
  const revocation = 'not checked'
  return {
    authentic: false,
    code: 'evidence_malformed',
    message,
    claims: {},
    checks: [check],
    revocation,
  }
}

const reportNames: { readonly [kind: string]: string } = {
  'snp-report': 'an SNP report',
  'tdx-quote': 'a quote of Intel',
  'nvidia-report': 'a report of an NVIDIA device',
}

type Refusal = { readonly code: AttestationError['code']; readonly message: string }

type Outcome<Claims> = {
  readonly claims: Claims | unknown
  readonly checks: readonly Check[]
  readonly refusal?: Refusal
  readonly appraisal?: Appraisal
}

async function verifyReport<Evidence, Claims>(
  verifier: Verifier<Evidence, Claims>,
  report: Bytes,
  inputs: Inputs,
): Promise<Outcome<Claims>> {
  let best: Outcome<Claims> | undefined
  for (const evidence of verifier.assemble(report, inputs).slice(0, maxVariants)) {
    const outcome = await verifyVariant(verifier, evidence, inputs)
    if (outcome.refusal === undefined) return outcome
    // Of several refusals, the one that got furthest is the most informative.
    if (best === undefined || outcome.checks.length > best.checks.length) best = outcome
  }
  if (best !== undefined) return best
  const refusal = {
    code: 'evidence_malformed',
    message: 'no evidence could be assembled',
  } as const
  return { claims: {}, checks: [], refusal }
}

async function verifyVariant<Evidence, Claims>(
  verifier: Verifier<Evidence, Claims>,
  evidence: Evidence,
  inputs: Inputs,
): Promise<Outcome<Claims>> {
  const transcript = new Transcript()
  let claims: Claims
  try {
    claims = await verifier.authenticate(evidence, inputs, transcript)
    requireGivenFiles(inputs, transcript)
    if (inputs.manifest === undefined) verifier.requireAlways(claims, transcript)
  } catch (error) {
    const refusal = refusalOf(error)
    const claims = await verifier.inspect(evidence, inputs)
    return { claims, checks: transcript.checks, refusal }
  }
  const { manifest } = inputs
  if (manifest === undefined) return { claims, checks: transcript.checks }
  const appraisal = appraise(manifest, () => {
    requireUnexpired(manifest, inputs.context.at, transcript)
    verifier.appraise(claims, inputs, transcript)
  })
  return { claims, checks: transcript.checks, appraisal }
}

function appraise({ digest }: Manifest, check: () => void): Appraisal {
  try {
    check()
    return { accepted: true, manifest: digest }
  } catch (error) {
    return { accepted: false, ...refusalOf(error) }
  }
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof AttestationError)) throw error
  return { code: error.code, message: error.message }
}

/** All of several reports must be authentic; the first refusal is reported. */
function summarize<Claims>(outcomes: readonly Outcome<Claims>[], inputs: Inputs): Verdict {
  const refusal = outcomes.find((outcome) => outcome.refusal !== undefined)?.refusal
  const appraisals = outcomes.map(({ appraisal }) => appraisal)
  const appraisal = appraisals.find((one) => one?.accepted === false) ?? appraisals[0]
  const claims = outcomes.map((outcome) => outcome.claims).filter((one) => one !== undefined)
  const checks = outcomes.flatMap((outcome) => outcome.checks)
  return {
    authentic: refusal === undefined,
    code: refusal?.code ?? (appraisal?.accepted === false ? appraisal.code : null),
    message: refusal?.message ?? (appraisal?.accepted === false ? appraisal.message : null),
    claims: claims.length === 1 ? claims[0] : { reports: claims },
    checks,
    revocation: refusal === undefined ? worstRevocation(outcomes) : 'not checked',
    ...(inputs.manifest !== undefined && appraisal !== undefined && { appraisal }),
  }
}

/** The worst state among several reports. */
function worstRevocation<Claims>(outcomes: readonly Outcome<Claims>[]): RevocationState {
  const states = outcomes
    .filter(({ claims }) => claims !== undefined)
    .map(({ checks }) => readRevocationState(checks))
  return (
    (['tolerated', 'not checked'] as const).find((state) => states.includes(state)) ?? 'checked'
  )
}
