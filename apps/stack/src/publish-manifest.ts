/** Publishes what this machine runs: a manifest in the log, new only when something changed. */
import {
  createNoteSigner,
  formatManifest,
  type Manifest,
  type ManifestDraft,
  type ModelListing,
  parseManifest,
  parseNoteSigner,
  publishEntry,
} from '@privatemode/attestation'
import type { Home } from './home.ts'

export type ManifestFacts = {
  readonly rootFingerprint: string
  /** Hex. */
  readonly measurement: string
  readonly models: readonly ModelListing[]
}

const logName = 'localhost/privatemode'

/** The verifier key of this machine's manifest log; the signing key is made once. */
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
  if (previous !== undefined && previous.text === sameAs(next, previous.manifest)) {
    return previous.manifest
  }
  const bytes = formatManifest(next)
  const store = {
    read: async (path: string) => home.read('manifest-log', ...path.split('/')),
    write: async (path: string, content: Uint8Array) =>
      home.write(content, 'manifest-log', ...path.split('/')),
  }
  await publishEntry(store, await parseNoteSigner(signerText), bytes)
  home.write(bytes, 'manifest.json')
  return parseManifest(bytes)
}

function draft(facts: ManifestFacts, serial: number, now: Date): ManifestDraft {
  const rule = {
    kind: 'software',
    measurements: [facts.measurement],
    root: facts.rootFingerprint,
    minimum_tcb: 1,
  }
  return {
    issuedAt: now.toISOString().replace(/\.\d+Z$/, 'Z'),
    serial,
    evidence: 'software',
    roles: { worker: { accept: [rule] }, proxyless: { accept: [rule] } },
    models: facts.models,
  }
}

/** The new draft as it would have been written then: equal text means that nothing changed. */
function sameAs(next: ManifestDraft, previous: Manifest): string {
  const issuedAt = previous.issuedAt.toISOString().replace(/\.\d+Z$/, 'Z')
  const bytes = formatManifest({ ...next, serial: previous.serial, issuedAt })
  return new TextDecoder().decode(bytes)
}

async function readPublished(
  home: Home,
): Promise<{ manifest: Manifest; text: string } | undefined> {
  const bytes = home.read('manifest.json')
  if (bytes === undefined) return undefined
  return { manifest: await parseManifest(bytes), text: new TextDecoder().decode(bytes) }
}
