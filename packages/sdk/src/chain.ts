/** The chain of trust as one picture: what leads from this program to the machine, and to whom vouches for it. */
import type { Check } from '@privatemode/attestation'
import type { Verification, WorkerVerification } from './verification.ts'

/** `good`: checked here. `caution`: not checked, or weaker than it should be. `open`: not reached yet. */
export type LinkState = 'good' | 'caution' | 'bad' | 'open'

export type ChainLink = {
  readonly id: 'sealing' | 'binding' | 'vendor' | 'manifest' | 'log' | 'witnesses' | 'source'
  /** The parts that it joins, as a picture names them. */
  readonly from: string
  readonly to: string
  readonly state: LinkState
  /** One plain sentence: what was checked, or why not. */
  readonly sentence: string
  readonly checks: readonly (Check & { readonly worker: string })[]
}

export type ChainContext = {
  /** What this program is: `Your browser`, `This proxy`. */
  readonly self: string
  /** How many witnesses must have signed the log; 0 where none is named. */
  readonly quorum: number
  /** Why everything was refused, where it was: the code, at the link that it broke. */
  readonly refusal?: { readonly code: string; readonly sentence: string } | undefined
}

/** In the order of the picture: first the way of a prompt, then the way of the rules. */
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
      'Prompts are encrypted here, for the machine. The gateway relays bytes that it cannot open.',
    ]),
    judge('binding', ['Gateway', 'Machine'], verified, [
      'good',
      'The encryption key is the machine’s own: its evidence, made for a fresh random number, names it.',
    ]),
    judge('vendor', ['Machine', 'Chip vendor'], verified, judgeVendor(workers)),
    judge('manifest', ['Machine', 'Manifest'], verified, [
      'good',
      'The machine runs the software that the manifest lists, and nothing else.',
    ]),
    judge('log', ['Manifest', 'Public log'], known, judgeLog(manifest?.log_signed_at)),
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
      'Software attestation: no chip protects this machine, so whoever runs it can read prompts. For trials only.',
    ]
  }
  if (workers.some(({ revocation }) => revocation === 'tolerated')) {
    return [
      'caution',
      'The chip vendor has revoked a certificate; it is still in its grace period.',
    ]
  }
  if (workers.some(({ revocation }) => revocation === 'not checked')) {
    return [
      'caution',
      'The chip vendor’s signature is right; whether it was revoked was not checked.',
    ]
  }
  return ['good', 'The chip vendor signed for this machine, and no certificate is revoked.']
}

function judgeLog(signedAt: string | null | undefined): readonly [LinkState, string] {
  return typeof signedAt === 'string'
    ? [
        'good',
        'The manifest is the latest entry of a log that only grows, signed by the key you trust.',
      ]
    : [
        'caution',
        'A manifest given by hand: no log says that it is the latest, or that others see the same.',
      ]
}

function judgeWitnesses(
  quorum: number,
  signedAt: string | null | undefined,
): readonly [LinkState, string] {
  if (quorum > 0 && typeof signedAt === 'string') {
    const count = quorum === 1 ? 'One witness has' : `${quorum} witnesses have`
    return ['good', `${count} signed the log: the same entries are shown to everybody.`]
  }
  return [
    'caution',
    'Not checked: no witness is named, so the log could show others different entries.',
  ]
}

const isAboutManifest =
  /measurement|\/mr-|host-data|firmware-id|\/listed-|\/allowed-|manifest|\/models$|\/role$/

/** Which link a check of a worker belongs to. */
function linkOf(id: string): ChainLink['id'] {
  if (/^(binding|statement)\//.test(id) && !isAboutManifest.test(id)) return 'binding'
  if (isAboutManifest.test(id)) return 'manifest'
  return 'vendor'
}

/** Which link a refusal is about; undefined where nothing was reached that could be judged. */
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
