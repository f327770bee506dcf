/** Checkpoints (c2sp.org/tlog-checkpoint): a log's signed size and root, and its cosignatures. */
import {
  type Bytes,
  concatBytes,
  equalBytes,
  formatBase64,
  formatHex,
  parseBase64,
  utf8,
} from '../bytes.ts'
import { AttestationError } from '../verdict.ts'
import { type NoteSigner, signEd25519 } from './note-signer.ts'
import {
  formatSignedNote,
  type NoteSignature,
  noteKeyId,
  parseSignedNote,
  type SignedNote,
  type VerifierKey,
  verifiedSignature,
  verifyEd25519,
} from './signed-note.ts'

/** The end of the year 9999: not every component can format later dates. */
const lastSecond = 253_402_300_799n

export type TreeHead = { readonly origin: string; readonly size: number; readonly root: Bytes }

/** The known witnesses, and how many of them must have cosigned. */
export type WitnessRule = { readonly witnesses: readonly VerifierKey[]; readonly quorum: number }

export type Checkpoint = TreeHead & {
  /** The note exactly as received; clients store it. */
  readonly note: Bytes
  /** Names of the witnesses whose cosignatures were verified. */
  readonly witnesses: readonly string[]
  /**
   * When the log, and as many witnesses as the rule demands, have all stated that this is the
   * latest state: the oldest of these times. Undefined if the log itself states none.
   */
  readonly asOf: Date | undefined
}

type Cosignature = { readonly name: string; readonly at: Date }

/** Opens a checkpoint: it must be signed by the log and cosigned as the rule demands. */
export async function openCheckpoint(
  bytes: Uint8Array,
  logKey: VerifierKey,
  rule: WitnessRule,
): Promise<Checkpoint> {
  const note = parseSignedNote(bytes)
  const signature = await verifiedSignature(note, logKey, ({ signature }) =>
    verifyEd25519(logKey.publicKey, signature, utf8(note.text)),
  )
  if (signature === undefined || logKey.type !== 'ed25519') {
    throw new AttestationError(
      'log_signature_invalid',
      `checkpoint is not signed by ${logKey.name}+${formatHex(logKey.id)}`,
    )
  }
  const head = parseTreeHead(note.text)
  if (head.origin !== logKey.name) {
    throw new AttestationError(
      'log_signature_invalid',
      `checkpoint is of log ${JSON.stringify(head.origin)}, expected ${logKey.name}`,
    )
  }
  const own = await verifyCosignature(note, await datingKey(logKey))
  const cosignatures = await verifyCosignatures(note, rule)
  return {
    ...head,
    note: new Uint8Array(bytes),
    witnesses: cosignatures.map(({ name }) => name),
    asOf: oldestDemanded(own, cosignatures, rule.quorum),
  }
}

/** Signs and dates a checkpoint: without a time, an old state could not be told from the latest. */
export async function signCheckpoint(head: TreeHead, signer: NoteSigner, at: Date): Promise<Bytes> {
  const text = `${head.origin}\n${head.size}\n${formatBase64(head.root)}\n`
  const signature = await signEd25519(signer.privateKey, utf8(text))
  const { name, id } = signer.key
  return dateCheckpoint(
    formatSignedNote({ text, signatures: [{ name, id, signature }] }),
    signer,
    at,
  )
}

/**
 * States again that this is the log's latest state. A checkpoint has no time of its own and
 * extension lines are discouraged, so the log cosigns itself: older clients ignore that line.
 */
export async function dateCheckpoint(
  bytes: Uint8Array,
  signer: NoteSigner,
  at: Date,
): Promise<Bytes> {
  return cosignCheckpoint(bytes, { ...signer, key: await datingKey(signer.key) }, at)
}

/**
 * Adds a witness's signature line (c2sp.org/tlog-cosignature, the Ed25519 form), replacing its
 * previous one.
 */
export async function cosignCheckpoint(
  bytes: Uint8Array,
  witness: NoteSigner,
  at: Date,
): Promise<Bytes> {
  const note = parseSignedNote(bytes)
  const timestamp = new Uint8Array(8)
  new DataView(timestamp.buffer).setBigUint64(0, BigInt(Math.floor(at.getTime() / 1000)))
  const signed = await signEd25519(witness.privateKey, cosignedMessage(timestamp, note.text))
  const { name, id } = witness.key
  const line: NoteSignature = { name, id, signature: concatBytes(timestamp, signed) }
  const others = note.signatures.filter((one) => one.name !== name || !equalBytes(one.id, id))
  return formatSignedNote({ text: note.text, signatures: [...others, line] })
}

async function verifyCosignatures(
  note: SignedNote,
  rule: WitnessRule,
): Promise<readonly Cosignature[]> {
  const found: Cosignature[] = []
  // By key, not by name: one key under two names is one witness.
  const seen = new Set<string>()
  for (const key of rule.witnesses) {
    const at = await verifyCosignature(note, key)
    if (at === undefined || seen.has(formatHex(key.publicKey))) continue
    seen.add(formatHex(key.publicKey))
    found.push({ name: key.name, at })
  }
  if (found.length >= rule.quorum) return found
  throw new AttestationError(
    'log_witnesses_missing',
    `${found.length} of ${rule.witnesses.length} witnesses have cosigned, expected ${rule.quorum} at least`,
  )
}

/** When `key` cosigned; undefined if it did not. */
async function verifyCosignature(note: SignedNote, key: VerifierKey): Promise<Date | undefined> {
  const line = await verifiedSignature(note, key, ({ signature }) => {
    const message = cosignedMessage(signature.subarray(0, 8), note.text)
    return verifyEd25519(key.publicKey, signature.slice(8), message)
  })
  if (line === undefined || key.type !== 'cosignature/v1') return undefined
  const { buffer, byteOffset } = line.signature
  const seconds = new DataView(buffer, byteOffset, 8).getBigUint64(0)
  if (seconds > lastSecond) {
    throw new AttestationError(
      'log_malformed',
      `cosignature of ${key.name} is of second ${seconds}`,
    )
  }
  return new Date(Number(seconds) * 1000)
}

/** The log's own key in its second role; the header line of cosignatures separates the two. */
async function datingKey({ name, publicKey }: VerifierKey): Promise<VerifierKey> {
  const type = 'cosignature/v1'
  return { name, type, publicKey, id: await noteKeyId(name, type, publicKey) }
}

function oldestDemanded(
  own: Date | undefined,
  cosignatures: readonly Cosignature[],
  quorum: number,
): Date | undefined {
  if (own === undefined) return undefined
  const newestFirst = cosignatures.map(({ at }) => at.getTime()).sort((one, other) => other - one)
  return new Date(Math.min(own.getTime(), ...newestFirst.slice(0, quorum)))
}

function cosignedMessage(timestamp: Uint8Array, text: string): Bytes {
  // A short signature line has no complete timestamp; its signature is invalid in any case.
  const padded = concatBytes(timestamp, new Uint8Array(8)).subarray(0, 8)
  const seconds = new DataView(padded.buffer, padded.byteOffset, 8).getBigUint64(0)
  return utf8(`cosignature/v1\ntime ${seconds}\n${text}`)
}

function parseTreeHead(text: string): TreeHead {
  // Further lines are extensions: opaque, and ignored here.
  const [origin = '', sizeText = '', rootText = '', ...extensions] = text.slice(0, -1).split('\n')
  const size = /^(?:0|[1-9][0-9]{0,15})$/.test(sizeText) ? Number(sizeText) : Number.NaN
  const root = parseBase64(rootText)
  if (
    origin === '' ||
    !Number.isSafeInteger(size) ||
    root?.length !== 32 ||
    extensions.includes('')
  ) {
    throw new AttestationError('log_malformed', 'checkpoint has no origin, size and root hash')
  }
  return { origin, size, root }
}
