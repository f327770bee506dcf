/** Describes in plain words what a manifest accepts: one sentence per fact, so that two can be compared. */
import type {
  Manifest,
  ModelListing,
  NvidiaGpuRule,
  RolePolicy,
  Rule,
  SnpRule,
  TdxRule,
} from '@privatemode/attestation'

/** A heading and its sentences. */
export type Section = { readonly title: string; readonly lines: readonly string[] }

export function explainManifest(manifest: Manifest): Section[] {
  const { worker, proxyless } = manifest.roles
  return [
    { title: 'This manifest', lines: explainDocument(manifest) },
    ...explainRole('Workers, which read prompts', worker),
    ...(proxyless === undefined
      ? []
      : explainRole('The hosted proxy, which reads prompts of proxyless clients', proxyless)),
    { title: 'Models', lines: manifest.models.map(explainModel) },
  ]
}

function explainDocument(manifest: Manifest): string[] {
  const nature =
    manifest.evidence === 'hardware'
      ? 'accepts protected hardware only'
      : 'accepts SOFTWARE evidence: nothing protects prompts from the operator of the machine'
  return [
    `has serial ${manifest.serial} and was issued at ${manifest.issuedAt.toISOString()}`,
    manifest.expiresAt === undefined
      ? 'does not say when it expires'
      : `expires at ${manifest.expiresAt.toISOString()}`,
    nature,
    `makes clients verify a worker again after ${manifest.sessionMinutes} minutes`,
    explainRevocation(manifest.revocation),
    manifest.logKey === undefined
      ? 'names no log, so any log may contain it'
      : `belongs to the log ${manifest.logKey}`,
  ]
}

function explainRevocation(rule: Manifest['revocation']): string {
  if (rule === undefined) {
    return 'requires no OCSP answers for GPUs: a client may accept a GPU whose revocation was not checked'
  }
  const age = rule.maxAgeHours === undefined ? '' : `, at most ${rule.maxAgeHours} hours old`
  const grace =
    rule.revokedGraceHours === undefined
      ? ''
      : `, and tolerates a revoked certificate for at most ${rule.revokedGraceHours} hours`
  return `requires an OCSP answer for every certificate of a GPU${age}${grace}, whatever a client's flags say`
}

function explainRole(title: string, policy: RolePolicy): Section[] {
  return policy.accept.map((rule, index) => ({
    title: `${title}: rule ${index + 1}, ${machineName(rule)}`,
    lines: explainRule(rule),
  }))
}

function machineName(rule: Rule): string {
  switch (rule.kind) {
    case 'snp':
      return 'AMD SEV-SNP'
    case 'tdx':
      return 'Intel TDX'
    case 'software':
      return 'software attestation'
    case 'unread':
      return rule.about
  }
}

function explainRule(rule: Rule): string[] {
  switch (rule.kind) {
    case 'snp':
      return [...explainSnp(rule.rule), ...explainDevices(rule.devices.nvidiaGpu)]
    case 'tdx':
      return [...explainTdx(rule.rule), ...explainDevices(rule.devices.nvidiaGpu)]
    case 'software':
      return [
        ...rule.rule.measurements.map((value) => `may run the software measured as ${value}`),
        `must be certified by the software root ${rule.rule.root}`,
        `must have a TCB number of at least ${rule.rule.minimumTcb}`,
      ]
    case 'unread':
      return unread
  }
}

const unread = ['is unknown to this program, which accepts nothing under it']

function explainSnp(rule: SnpRule): string[] {
  const tcbs = Object.entries(rule.minimumTcb).map(([product, levels]) => {
    const parts = Object.entries(levels ?? {}).map(([name, level]) => `${name} ${level}`)
    return `may be a ${product} processor with firmware of at least ${parts.join(', ')}`
  })
  return [
    ...rule.measurements.map((value) => `may run the guest measured as ${value}`),
    ...tcbs,
    `must be signed by a key of kind ${rule.signers.join(' or ')}`,
    ...rule.cspIds.map((id) => `may belong to the cloud provider ${id}`),
    `must run at privilege level (VMPL) ${rule.vmpl}`,
    rule.hostData === undefined
      ? 'may carry any host data'
      : `must carry the host data ${rule.hostData}`,
    ...explainMachines('chip', rule.chipIds),
    ...explainPins('an ID key with the digest', rule.idKeyDigests),
    ...explainPins('an author key with the digest', rule.authorKeyDigests),
    ...explainCrl("AMD's revocation list", rule.crl),
    ...explainFlags('guest policy', rule.guestPolicy),
    ...explainFlags('platform', rule.platform),
    'must not allow debugging or a migration agent, whatever else is listed',
  ]
}

function explainMachines(what: string, listed: readonly string[] | undefined): string[] {
  if (listed === undefined) return [`may have ANY genuine ${what} in the world: none is listed`]
  return listed.map((id) => `may have the ${what} ${id}`)
}

const explainPins = (what: string, pinned: readonly string[] | undefined): string[] =>
  (pinned ?? []).map((value) => `may be launched with ${what} ${value}`)

function explainCrl(what: string, rule: SnpRule['crl']): string[] {
  const { minNumber, maxAgeHours } = rule ?? {}
  return [
    ...(minNumber === undefined ? [] : [`must come with ${what} number ${minNumber} or later`]),
    ...(maxAgeHours === undefined
      ? []
      : [`must come with ${what} issued in the last ${maxAgeHours} hours`]),
  ]
}

function explainFlags(what: string, flags: SnpRule['platform'] | SnpRule['guestPolicy']): string[] {
  return [
    ...flags.allow.map((flag) => `may have ${flag} in its ${what}`),
    ...flags.allowBits.map(
      (bit) => `may have bit ${bit} in its ${what}, which this program has no name for`,
    ),
    ...flags.require.map((flag) => `must have ${flag} in its ${what}`),
  ]
}

function explainTdx(rule: TdxRule): string[] {
  const pinned = (name: string, value: string | undefined): string =>
    value === undefined ? `may have any ${name}` : `must have ${name} ${value}`
  return [
    ...rule.measurements.map(
      ({ mrTd, rtmr0, rtmr1, rtmr2, rtmr3 }) =>
        `may run MRTD ${mrTd} with RTMR0 ${rtmr0}, RTMR1 ${rtmr1}, RTMR2 ${rtmr2}, RTMR3 ${rtmr3 ?? 'any'}`,
    ),
    ...rule.acceptedTcbStatuses.map((status) => `may have a TCB that Intel calls ${status}`),
    rule.minTcbEvaluationDataNumber === undefined
      ? "may be checked against ANY of Intel's TCB recoveries: the machine chooses"
      : `must be checked against Intel's TCB recovery ${rule.minTcbEvaluationDataNumber} or a later one`,
    `must have TD attributes ${rule.tdAttributes} and XFAM ${rule.xfam}`,
    ...(rule.mrSeam ?? ['any that Intel signed']).map((value) => `may use the TDX module ${value}`),
    pinned('MRCONFIGID', rule.mrConfigId),
    pinned('MROWNER', rule.mrOwner),
    pinned('MROWNERCONFIG', rule.mrOwnerConfig),
    rule.mrServiceTd === undefined
      ? 'must have no service TD'
      : `must have MRSERVICETD ${rule.mrServiceTd}`,
    ...explainMachines('platform', rule.platformIds),
    ...explainCrl("the revocation list of Intel's root", rule.rootCrl),
    ...explainCrl("the revocation list of Intel's PCK authority", rule.pckCrl),
  ]
}

type NvidiaDevices = Extract<Rule, { kind: 'snp' }>['devices']['nvidiaGpu']

function explainDevices(devices: NvidiaDevices): string[] {
  if (devices === undefined) return ['must have no attested device besides the processor']
  if (devices === 'unread') return unread
  const { count, switches, rule } = devices
  return [
    `must have ${count.min} to ${count.max} NVIDIA GPUs, all different`,
    `must have ${switches.min} to ${switches.max} NVIDIA switches`,
    ...explainGpu(rule),
  ]
}

function explainGpu(rule: NvidiaGpuRule): string[] {
  const version = (what: string, versions: NvidiaGpuRule['driver']): string[] => {
    switch (versions.kind) {
      case 'allowed':
        return versions.versions.map((value) => `may have the GPU ${what} ${value}`)
      case 'minimum':
        return [`must have the GPU ${what} ${versions.version} or a later one`]
    }
  }
  return [
    ...rule.architectures.map((name) => `may have GPUs of the architecture ${name}`),
    ...version('driver', rule.driver),
    ...version('VBIOS', rule.vbios),
    ...(rule.modes ?? ['any']).map((mode) => `may run its GPUs in the mode ${mode}`),
    ...explainMachines('GPU', rule.gpuSerials),
    ...(rule.switchSerials ?? []).map((serial) => `may have the switch ${serial}`),
  ]
}

function explainModel(model: ModelListing): string {
  const tasks = model.tasks.join(' and ')
  return `${model.id} ("${model.displayName}", ${tasks}, context ${model.contextLength}, created ${model.created}), weights ${model.digest}`
}
