/** Where the manifest in force comes from: a verified log, or a pinned document. */
import type { Bytes } from '../bytes.ts'
import { type LogFreshness, requireClock, requireFreshLog } from '../log/freshness.ts'
import type { LogTrust } from '../log/log-trust.ts'
import type { ReadLog } from '../log/tile-tree.ts'
import { verifyLatest } from '../log/verify-latest.ts'
import { AttestationError } from '../verdict.ts'
import { type Manifest, parseManifest, parseManifestWith } from './manifest.ts'
import type { RuleReaders } from './rule.ts'

/** Supplies the manifest to enforce: from a verified log, or a pinned document. */
export type ManifestSource = {
  /** The manifest to enforce now; throws if none could be verified. */
  readonly load: () => Promise<Manifest>
  /** Called once a backend has been verified against a manifest. */
  readonly enforced: (manifest: Manifest, at: Date) => Promise<void>
  /** Whether this is a pinned document, which is never fetched again. */
  readonly fixed: boolean
  /** c2sp.org/tlog-proof of the manifest loaded last, for an evidence bundle. */
  readonly logProof: (manifest: Manifest) => Bytes | undefined
  /** As of when the manifest loaded last was the latest; undefined if no log states that. */
  readonly freshness: () => LogFreshness | undefined
}

/** The record of an enforced manifest: its file, and since when. */
export type EnforcedManifest = {
  readonly manifest: Manifest
  readonly fileName: string
  readonly at: Date
}

/** Called after a backend was verified, and only if the manifest differs from the previous one. */
export type RecordEnforced = (enforced: EnforcedManifest) => Promise<void>

/** Stores the last checkpoint of one log between runs; without it, a rollback goes unnoticed. */
export type CheckpointStore = {
  readonly load: () => Promise<Uint8Array | undefined>
  readonly save: (checkpoint: Uint8Array) => Promise<void>
}

export type LogSourceOptions = {
  readonly trust: LogTrust
  readonly read: ReadLog
  readonly checkpoints: CheckpointStore
  readonly record: RecordEnforced
  readonly now: () => Date
  /**
   * The maximum age of the signatures of the log and its witnesses; usually {@link
   * defaultMaxLogAgeHours}.
   */
  readonly maxAgeHours: number
}

type ParseManifest = (bytes: Uint8Array) => Promise<Manifest>

/** Loads the latest manifest of a log and stores the log's state, so that it cannot be rolled back. */
export const createLogSource = (options: LogSourceOptions): ManifestSource =>
  logSource(options, parseManifest)

/** {@link createLogSource} for programs with some verifiers: rules of other kinds accept nothing. */
export const createLogSourceWith = (
  readers: RuleReaders,
  options: LogSourceOptions,
): ManifestSource => logSource(options, (bytes) => parseManifestWith(readers, bytes))

function logSource(options: LogSourceOptions, parse: ParseManifest): ManifestSource {
  const { trust, now, maxAgeHours } = options
  let serial = 0
  let proven: { readonly digest: string; readonly proof: Bytes } | undefined
  let freshness: LogFreshness | undefined
  return {
    fixed: false,
    freshness: () => freshness,
    logProof: ({ digest }) => (digest === proven?.digest ? proven.proof : undefined),
    enforced: recordChanges(options.record),
    async load() {
      // Stored before the manifest is parsed: the log has signed this state, whatever it contains.
      const latest = await verifyAndStore(options)
      const at = now()
      const { asOf, rememberedAsOf } = latest
      if (rememberedAsOf !== undefined)
        requireClock(at, rememberedAsOf, 'the log was signed before')
      const fresh = requireFreshLog(asOf, at, maxAgeHours)
      const manifest = await parse(latest.entry)
      requireLogKey(manifest, trust.logKey)
      requireClock(at, manifest.issuedAt, 'the manifest was issued')
      if (manifest.serial < serial) {
        throw new AttestationError(
          'log_rolled_back',
          `manifest of serial ${manifest.serial} follows one of serial ${serial}`,
        )
      }
      serial = manifest.serial
      freshness = fresh
      proven = { digest: manifest.digest, proof: latest.proof }
      return manifest
    },
  }
}

/**
 * Other clients may share the store, such as another tab or process. What they have stored since is
 * verified against too: otherwise this client would replace it with an older state, and a rollback
 * to that would go unnoticed.
 */
async function verifyAndStore({ trust, read, checkpoints }: LogSourceOptions) {
  let remembered = await checkpoints.load()
  for (;;) {
    const latest = await verifyLatest({ ...trust, read, remembered })
    const stored = await checkpoints.load()
    if (String(stored) === String(remembered)) {
      await checkpoints.save(latest.checkpoint)
      return latest
    }
    remembered = stored
  }
}

/** A single document, read once: `--manifestPath`. */
export const createStaticSource = (bytes: Uint8Array, record: RecordEnforced): ManifestSource =>
  staticSource(bytes, record, parseManifest)

/** {@link createStaticSource} for programs with some verifiers: rules of other kinds accept nothing. */
export const createStaticSourceWith = (
  readers: RuleReaders,
  bytes: Uint8Array,
  record: RecordEnforced,
): ManifestSource => staticSource(bytes, record, (given) => parseManifestWith(readers, given))

function staticSource(
  bytes: Uint8Array,
  record: RecordEnforced,
  parse: ParseManifest,
): ManifestSource {
  let parsed: Promise<Manifest> | undefined
  return {
    fixed: true,
    freshness: () => undefined,
    logProof: () => undefined,
    enforced: recordChanges(record),
    load() {
      parsed ??= parse(bytes)
      return parsed
    },
  }
}

/** The file name of an enforced manifest: the same document always has the same name. */
export function manifestFileName(manifest: Manifest): string {
  return `manifest-${manifest.serial}-${manifest.digest.slice('sha256:'.length, 23)}.json`
}

/**
 * The line to append to `log.txt`: RFC 3339 time and file name. Undefined if the last line names
 * the same file: a restart under the same manifest is not a change.
 */
export function enforcementLine(log: string, fileName: string, at: Date): string | undefined {
  const last = log.trimEnd().split('\n').at(-1) ?? ''
  return last.endsWith(` ${fileName}`) ? undefined : `${at.toISOString()} ${fileName}\n`
}

function recordChanges(record: RecordEnforced): ManifestSource['enforced'] {
  let last: string | undefined
  return async (manifest, at) => {
    if (manifest.digest === last) return
    await record({ manifest, fileName: manifestFileName(manifest), at })
    last = manifest.digest
  }
}

// A manifest that was published in one log must not be presented in another.
function requireLogKey(manifest: Manifest, logKey: string): void {
  if (manifest.logKey === undefined || manifest.logKey === logKey) return
  throw new AttestationError(
    'manifest_refused',
    `manifest is for the log ${manifest.logKey}, it was found in ${logKey}`,
  )
}
