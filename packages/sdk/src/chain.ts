/** The chain of trust as one picture: from this program to the machine, and to those who vouch for it. */
import type { Check } from '@privatemode/attestation'
import type { Verification, WorkerVerification } from './verification.ts'

/** `good`: checked here. `caution`: not checked, or weaker than it should be. `open`: not reached yet. */
export type LinkState = 'good' | 'caution' | 'bad' | 'open'

/** One link of the chain, between two parts of the picture. */
export type ChainLink = {
  readonly id: 'sealing' | 'binding' | 'vendor' | 'manifest' | 'log' | 'witnesses' | 'source'
  /** The parts it connects, as the picture labels them. */
  readonly from: string
  readonly to: string
  readonly state: LinkState
  /** One plain sentence: what was checked, or why it was not. */
  readonly sentence: string
  readonly checks: readonly (Check & { readonly worker: string })[]
}

/** What the caller knows about itself and its settings. */
export type ChainContext = {
  /** What this program is: `Your browser`, `This proxy`. */
  readonly self: string
  /** How many witnesses must have signed the log; 0 if none are configured. */
  readonly quorum: number
  /** If everything was refused, the reason, shown at the link it concerns. */
  readonly refusal?: { readonly code: string; readonly sentence: string } | undefined
}

/** Describes the links in the picture's order: first the path of a prompt, then the path of the rules. */
export function describeChain(
  verification: Verification | undefined,
  context: ChainContext,
): readonly ChainLink[] {
  const { self, quorum } = context
  const workers = verification?.workers ?? []
  const manifest = verification?.manifest
  const broken = brokenLink(context.refusal?.code)
  const judge = (
    id: ChainLink['id'],
    ends: readonly [string, string],
    reached: boolean,
    [state, sentence]: readonly [LinkState, string],
  ): ChainLink => {
    const [from, to] = ends
    const checks = workers.flatMap((worker) =>
      worker.checks
        .filter((check) => linkOf(check.id) === id)
        .map((check) => ({ ...check, worker: worker.worker_id })),
    )
    const link = { id, from, to, checks }
    if (broken === id && context.refusal !== undefined) {
      return { ...link, state: 'bad', sentence: context.refusal.sentence }
    }
    if (!reached) return { ...link, state: 'open', sentence: 'Not reached.' }
    if (checks.some(({ result }) => result === 'failed')) {
      return { ...link, state: 'bad', sentence: 'A check failed; see below.' }
    }
    return { ...link, state, sentence }
  }
  const verified = workers.length > 0
  const known = manifest !== undefined
  return [
    judge('sealing', [self, 'Gateway'], verified, [
      'good',
      'Prompts are encrypted here, for the machine. The gateway relays bytes it cannot decrypt.',
    ]),
    judge('binding', ['Gateway', 'Machine'], verified, [
      'good',
      'The encryption key belongs to the machine: its evidence, made for a fresh random number, contains it.',
    ]),
    judge('vendor', ['Machine', 'Chip vendor'], verified, judgeVendor(workers)),
    judge('manifest', ['Machine', 'Manifest'], verified, [
      'good',
      'The machine runs the software that the manifest lists, and nothing else.',
    ]),
    judge('log', ['Manifest', 'Public log'], known, judgeLog(manifest)),
    judge(
      'witnesses',
      ['Public log', 'Witnesses'],
      known,
      judgeWitnesses(quorum, manifest?.log_signed_at),
    ),
    judge('source', ['Manifest', 'Source code'], known, [
      'caution',
      'Not checked here: whether the listed measurements are built from the published source is for a rebuild to show.',
    ]),
  ]
}

function judgeVendor(workers: readonly WorkerVerification[]): readonly [LinkState, string] {
  if (workers.some(({ hardware }) => !hardware)) {
    return [
      'caution',
      'Software attestation: no chip protects this machine, so its operator can read prompts. For trials only.',
    ]
  }
  if (workers.some(({ revocation }) => revocation === 'tolerated')) {
    return [
      'caution',
      'The chip vendor has revoked a certificate; it is still in its grace period.',
    ]
  }
  if (workers.some(({ revocation }) => revocation === 'not checked')) {
    return ['caution', 'The chip vendor’s signature is valid; revocation was not checked.']
  }
  return ['good', 'The chip vendor signed for this machine, and no certificate is revoked.']
}

function judgeLog(manifest: Verification['manifest']): readonly [LinkState, string] {
  const refused = manifest?.log_refused ?? null
  if (refused !== null) {
    return ['bad', `The log was refused (${refused}): nothing is sent until it is valid again.`]
  }
  return typeof manifest?.log_signed_at === 'string'
    ? [
        'good',
        'The manifest is the latest entry of an append-only log, signed by the key you trust.',
      ]
    : [
        'caution',
        'A pinned manifest: no log shows that it is the latest, or that others see the same one.',
      ]
}

function judgeWitnesses(
  quorum: number,
  signedAt: string | null | undefined,
): readonly [LinkState, string] {
  if (quorum > 0 && typeof signedAt === 'string') {
    const count = quorum === 1 ? 'One witness has' : `${quorum} witnesses have`
    return ['good', `${count} signed the log: everyone sees the same entries.`]
  }
  return [
    'caution',
    'Not checked: no witness is configured, so the log could show others different entries.',
  ]
}

const isAboutManifest =
  /measurement|\/mr-|host-data|firmware-id|\/listed-|\/allowed-|manifest|\/models$|\/role$/

/** Which link a worker's check belongs to. */
function linkOf(id: string): ChainLink['id'] {
  if (/^(binding|statement)\//.test(id) && !isAboutManifest.test(id)) return 'binding'
  if (isAboutManifest.test(id)) return 'manifest'
  return 'vendor'
}

/** Which link a refusal concerns; undefined if nothing was reached that could be checked. */
function brokenLink(code: string | undefined): ChainLink['id'] | undefined {
  if (code === undefined) return undefined
  if (code === 'log_witnesses_missing') return 'witnesses'
  if (code.startsWith('log_')) return 'log'
  if (code.startsWith('manifest_')) return 'log'
  if (/^(measurement|model|role|device|policy)_/.test(code)) return 'manifest'
  if (/^(binding|statement|nonce)_/.test(code)) return 'binding'
  if (/^(gateway|worker|no_worker|invalid_api_key|timeout|upstream|clock)/.test(code))
    return undefined
  return 'vendor'
}
