/** Appraisal: does the manifest list what the authentic evidence claims? */
import { appraiseDevices } from './appraise-devices.ts'
import type { AuthenticEvidence } from './authenticate-worker.ts'
import { kindOf, type RolePolicy, type Rule } from './manifest/rule.ts'
import { AttestationError, Transcript } from './verdict.ts'
import type { Verifiers } from './verifiers.ts'

/** Returns the first rule that accepts everything; otherwise refuses with the reason of the closest rule. */
export function appraiseEvidence(
  evidence: AuthenticEvidence,
  policy: RolePolicy,
  verifiers: Verifiers,
  transcript: Transcript,
): Rule {
  let refusal: AttestationError | undefined
  for (const rule of policy.accept) {
    const attempt = new Transcript()
    try {
      appraiseByRule(evidence, rule, verifiers, attempt)
      transcript.append(attempt.checks)
      return rule
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      // That a rule is about other machines is reported only if all of them are.
      if (refusal === undefined || refusal.code === 'manifest_refused') refusal = error
    }
  }
  transcript.append(refusal?.checks ?? [])
  const others = policy.accept.length > 1 ? `; none of ${policy.accept.length} rules accepts` : ''
  throw new AttestationError(
    refusal?.code ?? 'manifest_refused',
    `${refusal?.message ?? 'the manifest has no rule'}${others}`,
    { cause: refusal, checks: transcript.checks },
  )
}

function appraiseByRule(
  { cpu, devices }: AuthenticEvidence,
  rule: Rule,
  verifiers: Verifiers,
  transcript: Transcript,
): void {
  const { snp, tdx, nvidiaGpu, software } = verifiers
  if (rule.kind === 'snp' && cpu.kind === 'snp' && snp !== undefined) {
    snp.appraise(cpu.claims, rule.rule, transcript)
    appraiseDevices(devices, rule.devices, nvidiaGpu, transcript)
  } else if (rule.kind === 'tdx' && cpu.kind === 'tdx' && tdx !== undefined) {
    tdx.appraise(cpu.claims, rule.rule, transcript)
    appraiseDevices(devices, rule.devices, nvidiaGpu, transcript)
  } else if (rule.kind === 'software' && cpu.kind === 'software' && software !== undefined) {
    software.appraise(cpu.claims, rule.rule, transcript)
    // A machine without hardware protection cannot vouch for its devices.
    appraiseDevices(devices, { nvidiaGpu: undefined }, undefined, transcript)
  } else {
    const detail = `evidence is ${cpu.kind}, the rule is about ${kindOf(rule)}`
    transcript.fail('manifest/kind', 'manifest_refused', detail)
  }
}
