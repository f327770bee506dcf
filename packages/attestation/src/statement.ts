/** What a worker states about itself: its keys and models, as bytes bound by its evidence. */
import { type Bytes, formatBase64, formatHex, utf8 } from './bytes.ts'
import { sha256 } from './digest.ts'
import { Fields, formatInstant } from './fields.ts'
import { formatModelListing, type ModelListing, readModels } from './model-listing.ts'
import { parseJson } from './strict-json.ts'
import { AttestationError } from './verdict.ts'

/** `worker` opens sealed requests; `proxyless` is the proxy hosted in a TEE. */
export type Role = 'worker' | 'proxyless'

export type SealKey = {
  /** Hex of the first 16 bytes of the public key's SHA-256. */
  readonly id: string
  readonly kem: 'X-Wing'
  readonly publicKey: Bytes
  readonly expiresAt: Date
}

export type Statement = {
  readonly workerId: string
  readonly role: Role
  readonly sealKey: SealKey
  /** Ed25519 public key, 32 bytes: signs receipts. */
  readonly receiptKey: Bytes
  readonly models: readonly ModelListing[]
  /** Name and version of the engine that runs the models. */
  readonly engine: string
  /** Identifies the worker's own software build. */
  readonly build: string
}

/** ML-KEM-768 encapsulation key (1184) and X25519 public key (32). */
export const sealPublicKeyBytes = 1216
const maxStatementBytes = 64 * 1024

export async function sealKeyId(publicKey: Uint8Array): Promise<string> {
  return formatHex((await sha256(publicKey)).subarray(0, 16))
}

/** Formats the bytes that are hashed into the evidence; they must be passed on unchanged. */
export function formatStatement(statement: Statement): Bytes {
  return utf8(
    JSON.stringify({
      version: 1,
      worker_id: statement.workerId,
      role: statement.role,
      seal_key: {
        id: statement.sealKey.id,
        kem: statement.sealKey.kem,
        public_key: formatBase64(statement.sealKey.publicKey),
        expires_at: formatInstant(statement.sealKey.expiresAt),
      },
      receipt_key: formatBase64(statement.receiptKey),
      models: statement.models.map(formatModelListing),
      engine: statement.engine,
      build: statement.build,
    }),
  )
}

/** Call only with bytes that evidence has bound: before that, they are unproven claims. */
export async function parseStatement(bytes: Uint8Array): Promise<Statement> {
  const json = parseJson(bytes, {
    what: 'statement',
    code: 'statement_malformed',
    maxBytes: maxStatementBytes,
  })
  const fields = new Fields(json, 'statement', {
    malformed: 'statement_malformed',
    unknown: 'statement_malformed',
  })
  const version = fields.integer('version')
  if (version !== 1) fields.refuse('version', `${version}, expected 1`)
  const statement: Statement = {
    workerId: fields.matching('worker_id', /^[A-Za-z0-9_-]{1,64}$/, 'a worker id'),
    role: fields.choice('role', ['worker', 'proxyless']),
    sealKey: fields.object('seal_key', (key) => ({
      id: key.hex('id', 16),
      kem: key.choice('kem', ['X-Wing']),
      publicKey: key.base64('public_key', sealPublicKeyBytes),
      expiresAt: key.instant('expires_at'),
    })),
    receiptKey: fields.base64('receipt_key', 32),
    models: readModels(fields, 'models'),
    engine: fields.text('engine'),
    build: fields.text('build'),
  }
  fields.end()
  const expectedId = await sealKeyId(statement.sealKey.publicKey)
  if (statement.sealKey.id !== expectedId) {
    throw new AttestationError(
      'statement_malformed',
      `statement.seal_key.id: ${statement.sealKey.id}, expected ${expectedId}`,
    )
  }
  return statement
}
