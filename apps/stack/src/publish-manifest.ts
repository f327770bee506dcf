/**
 * Publishes what this machine runs as a manifest in the log, when something changed or the last one
 * is old.
 */
import {
  createNoteSigner,
  formatInstant,
  formatManifest,
  type LogStore,
  type Manifest,
  type ManifestDraft,
  type ModelListing,
  parseManifest,
  parseNoteSigner,
  publishEntry,
  refreshCheckpoint,
} from '@privatemode/attestation'
import type { Home } from './home.ts'

export type ManifestFacts = {
  readonly rootFingerprint: string
  /** Hex. */
  readonly measurement: string
  readonly models: readonly ModelListing[]
}

const logName = 'localhost/privatemode'
const dayMs = 24 * 3_600_000
const validDays = 90
/** A manifest with less time left than this is reissued, even if nothing changed. */
const renewBeforeDays = 45
const republishMs = 6 * 3_600_000

/** The verifier key of this machine's manifest log; the signing key is created once. */
export async function ensureLogKey(home: Home): Promise<{ signer: string; verifierKey: string }> {
  const stored = await home.once(
    async () => {
      const { text, verifierKey } = await createNoteSigner(logName)
      return `${text}\n${verifierKey}\n`
    },
    'keys',
    'manifest-log-key',
  )
  const [signer = '', verifierKey = ''] = stored.split('\n')
  return { signer, verifierKey }
}

export async function publishManifest(
  home: Home,
  signerText: string,
  facts: ManifestFacts,
  now: Date,
): Promise<Manifest> {
  const previous = await readPublished(home)
  const next = draft(facts, (previous?.manifest.serial ?? 0) + 1, now)
  const signer = await parseNoteSigner(signerText)
  const store = logStore(home)
  if (previous !== undefined && lastsFrom(previous.manifest, now)) {
    if (previous.text === sameAs(next, previous.manifest)) {
      // Clients refuse a log that has not been signed for days.
      await refreshCheckpoint(store, signer, { at: now })
      return previous.manifest
    }
  }
  const bytes = formatManifest(next)
  await publishEntry(store, signer, bytes, { at: now })
  home.write(bytes, 'manifest.json')
  return parseManifest(bytes)
}

/**
 * Publishes again every six hours until `signal` aborts; failures are reported and retried. Checks
 * the clock every minute: a machine that slept for days is late by only a minute.
 */
export function keepPublished(
  publish: (now: Date) => Promise<unknown>,
  say: (line: string) => void,
  signal: AbortSignal,
  now: () => Date = () => new Date(),
  lookEveryMs = 60_000,
): void {
  let publishedAtMs = now().getTime()
  const timer = setInterval(() => {
    const at = now()
    if (Math.abs(at.getTime() - publishedAtMs) < republishMs) return
    publishedAtMs = at.getTime()
    publish(at).catch((error) => {
      publishedAtMs = 0
      say(`failed to sign the manifest log again: ${error instanceof Error ? error.message : ''}`)
    })
  }, lookEveryMs)
  timer.unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
}

function logStore(home: Home): LogStore {
  return {
    read: async (path) => home.read('manifest-log', ...path.split('/')),
    write: async (path, content) => home.write(content, 'manifest-log', ...path.split('/')),
  }
}

const lastsFrom = ({ expiresAt }: Manifest, now: Date): boolean =>
  expiresAt !== undefined && expiresAt.getTime() - now.getTime() > renewBeforeDays * dayMs

function draft(facts: ManifestFacts, serial: number, now: Date): ManifestDraft {
  const rule = {
    kind: 'software',
    measurements: [facts.measurement],
    root: facts.rootFingerprint,
    minimum_tcb: 1,
  }
  return {
    issuedAt: formatInstant(now),
    expiresAt: formatInstant(new Date(now.getTime() + validDays * dayMs)),
    serial,
    evidence: 'software',
    roles: { worker: { accept: [rule] }, proxyless: { accept: [rule] } },
    models: facts.models,
  }
}

/** The new draft with the previous times: equal text means that nothing changed. */
function sameAs(next: ManifestDraft, previous: Manifest): string {
  const { serial, issuedAt, expiresAt } = previous
  const times = {
    issuedAt: formatInstant(issuedAt),
    ...(expiresAt !== undefined && { expiresAt: formatInstant(expiresAt) }),
  }
  const bytes = formatManifest({ ...next, serial, ...times })
  return new TextDecoder().decode(bytes)
}

async function readPublished(
  home: Home,
): Promise<{ manifest: Manifest; text: string } | undefined> {
  const bytes = home.read('manifest.json')
  if (bytes === undefined) return undefined
  return { manifest: await parseManifest(bytes), text: new TextDecoder().decode(bytes) }
}
