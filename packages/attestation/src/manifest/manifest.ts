/** The manifest: the machines, software and models that the operator vouches for. */
import { type Bytes, utf8 } from '../bytes.ts'
import { namedSha256 } from '../digest.ts'
import { Fields } from '../fields.ts'
import { formatModelListing, type ModelListing, readModels } from '../model-listing.ts'
import { readSnpRule } from '../snp/rule.ts'
import { readSoftwareRule } from '../software/rule.ts'
import { type JsonObject, type JsonValue, parseJson } from '../strict-json.ts'
import { readTdxRule } from '../tdx/rule.ts'
import { AttestationError } from '../verdict.ts'
import { readNvidiaDevices } from './device-rule.ts'
import { type RevocationRule, readRevocationRule } from './revocation-rule.ts'
import { kindOf, type RolePolicy, type RuleReaders, readRolePolicy } from './rule.ts'

declare const parsed: unique symbol

/** Created by {@link parseManifest} only, so it always corresponds to the bytes its digest names. */
export type Manifest = {
  /** `sha256:` and 64 hex digits, over the exact bytes. */
  readonly digest: string
  readonly bytes: Bytes
  readonly issuedAt: Date
  /** It must not be used from then on; absent in manifests that predate this field. */
  readonly expiresAt: Date | undefined
  /** Increases with every manifest of a log. */
  readonly serial: number
  /** Applies to the whole document: software and hardware never mix. */
  readonly evidence: 'hardware' | 'software'
  readonly roles: { readonly worker: RolePolicy; readonly proxyless: RolePolicy | undefined }
  readonly models: readonly ModelListing[]
  /** How long one verification of a worker is valid. */
  readonly sessionMinutes: number
  /** The key of the log this manifest is meant for; absent if it may be pinned. */
  readonly logKey: string | undefined
  /** If absent, a client's flags decide how an unknown revocation status is treated. */
  readonly revocation: RevocationRule | undefined
  /** Which machine the measurements are of, for auditors who rebuild it: `parseMachineRecord` reads it. */
  readonly machine: JsonValue | undefined
  readonly [parsed]: true
}

/** Input of {@link formatManifest}; `accept` contains rules in their wire form. */
export type ManifestDraft = {
  readonly issuedAt: string
  readonly expiresAt?: string
  readonly serial: number
  readonly evidence: 'hardware' | 'software'
  readonly roles: {
    readonly worker: { readonly accept: readonly JsonObject[] }
    readonly proxyless?: { readonly accept: readonly JsonObject[] }
  }
  readonly models: readonly ModelListing[]
  readonly sessionMinutes?: number
  readonly logKey?: string
  /** In its wire form. */
  readonly revocation?: JsonObject
  /** In its wire form. */
  readonly machine?: JsonObject
}

/** The limit of one log entry in the tlog-tiles format, whose length is encoded in two bytes. */
export const maxManifestBytes = 65_535
/** A session lasts less than one hour. */
export const maxSessionMinutes = 55

const vkeyForm = /^[^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/
const remedy = 'update the proxy to the latest version'

const allReaders: RuleReaders = {
  snp: { readRule: readSnpRule },
  tdx: { readRule: readTdxRule },
  nvidiaGpu: { readRule: readNvidiaDevices },
  software: { readRule: readSoftwareRule },
}

/** Parses the exact bytes of one manifest; anything this version does not know is refused. */
export const parseManifest = (bytes: Uint8Array): Promise<Manifest> =>
  parseManifestWith(allReaders, bytes)

/** {@link parseManifest} for programs with some verifiers: rules of other kinds accept nothing. */
export async function parseManifestWith(
  readers: RuleReaders,
  bytes: Uint8Array,
): Promise<Manifest> {
  const readPolicy = (policy: Fields) => readRolePolicy(policy, readers)
  const json = parseJson(bytes, {
    what: 'manifest',
    code: 'manifest_malformed',
    maxBytes: maxManifestBytes,
  })
  const fields = new Fields(json, 'manifest', {
    malformed: 'manifest_malformed',
    unknown: 'manifest_unsupported',
    remedy,
  })
  // First of all: in another version, the fields below may mean something else.
  const version = fields.integer('version')
  if (version !== 1) {
    throw new AttestationError(
      'manifest_unsupported',
      `manifest.version: ${version}, expected 1; ${remedy}`,
    )
  }
  const manifest = {
    digest: await namedSha256(bytes),
    bytes: new Uint8Array(bytes),
    issuedAt: fields.instant('issued_at'),
    expiresAt: fields.optional('expires_at', (name) => fields.instant(name)),
    serial: fields.integer('serial', { min: 1, max: Number.MAX_SAFE_INTEGER }),
    evidence: fields.choice('evidence', ['hardware', 'software']),
    roles: fields.object('roles', (roles) => ({
      worker: roles.object('worker', readPolicy),
      proxyless: roles.optional('proxyless', (name) => roles.object(name, readPolicy)),
    })),
    models: readModels(fields, 'models'),
    sessionMinutes:
      fields.optional('session_minutes', (name) =>
        fields.integer(name, { min: 1, max: maxSessionMinutes }),
      ) ?? maxSessionMinutes,
    revocation: fields.optional('revocation', (name) => fields.object(name, readRevocationRule)),
    machine: fields.optional('machine', (name) => fields.value(name)),
    logKey: fields.optional('log_key', (name) => fields.matching(name, vkeyForm, 'a verifier key')),
  } satisfies Omit<Manifest, typeof parsed>
  fields.end()
  const { issuedAt, expiresAt } = manifest
  if (expiresAt !== undefined && expiresAt <= issuedAt) {
    fields.refuse('expires_at', 'not after issued_at')
  }
  refuseMixedEvidence(manifest)
  return manifest as unknown as Manifest
}

/** Formats a manifest for people to read; {@link parseManifest} decides whether it is valid. */
export function formatManifest(draft: ManifestDraft): Bytes {
  const document = {
    version: 1,
    issued_at: draft.issuedAt,
    expires_at: draft.expiresAt,
    serial: draft.serial,
    evidence: draft.evidence,
    roles: draft.roles,
    models: draft.models.map(formatModelListing),
    session_minutes: draft.sessionMinutes ?? maxSessionMinutes,
    log_key: draft.logKey,
    revocation: draft.revocation,
    machine: draft.machine,
  }
  return utf8(`${JSON.stringify(document, null, 2)}\n`)
}

function refuseMixedEvidence(manifest: Pick<Manifest, 'evidence' | 'roles'>): void {
  const rules = [...manifest.roles.worker.accept, ...(manifest.roles.proxyless?.accept ?? [])]
  for (const rule of rules) {
    if ((kindOf(rule) !== 'software') === (manifest.evidence === 'hardware')) continue
    throw new AttestationError(
      'manifest_mixed',
      `manifest of ${manifest.evidence} evidence has a rule of kind ${kindOf(rule)}`,
    )
  }
}
