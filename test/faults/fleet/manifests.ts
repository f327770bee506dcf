/** The trust of a fleet: a root, the workers' identity, and a manifest log to publish in. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  createNoteSigner,
  formatManifest,
  type ManifestDraft,
  parseNoteSigner,
  publishEntry,
} from '@privatemode/attestation'
import {
  createSoftwareRoot,
  formatSoftwareIdentity,
  issueSoftwareLeaf,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'

export type Trust = {
  readonly identityPath: string
  readonly rootFingerprint: string
  readonly logKey: string
  readonly logDir: string
  /** Appends a manifest that accepts these measurements; returns its serial. */
  publish(measurements: readonly string[], models: ManifestDraft['models']): Promise<number>
  /** Of the manifest that was published last. */
  readonly serial: number
  /** The next manifest gets the serial of the last one again, as in a log that forks. */
  rewind(): void
}

/** Days for which the workers' identity is valid: a clock far enough ahead sees it as expired. */
export const identityDays = 20

export async function createTrust(folder: string): Promise<Trust> {
  const at = new Date()
  const root = await createSoftwareRoot({ name: 'fleet', at, days: 3650 })
  const leaf = await issueSoftwareLeaf(root, { name: 'worker', at, days: identityDays })
  const identityPath = join(folder, 'leaf.json')
  writeFileSync(identityPath, await formatSoftwareIdentity(leaf), { mode: 0o600 })
  const rootFingerprint = await softwareRootFingerprint(root)
  const signer = await createNoteSigner('fleet.internal/log')
  const logDir = join(folder, 'manifest-log')
  const store = {
    read: async (name: string) => {
      const file = Bun.file(join(logDir, name))
      return (await file.exists()) ? await file.bytes() : undefined
    },
    // Readers fetch while this is written, so files are replaced atomically.
    write: async (name: string, content: Uint8Array) => {
      const path = join(logDir, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(`${path}.new`, content)
      renameSync(`${path}.new`, path)
    },
  }
  let serial = 0
  return {
    identityPath,
    rootFingerprint,
    logKey: signer.verifierKey,
    logDir,
    get serial() {
      return serial
    },
    rewind: () => void serial--,
    async publish(measurements, models) {
      serial++
      const rule = { kind: 'software', measurements, root: rootFingerprint, minimum_tcb: 1 }
      const bytes = formatManifest({
        issuedAt: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
        serial,
        evidence: 'software',
        roles: { worker: { accept: [rule] } },
        models,
      })
      await publishEntry(store, await parseNoteSigner(signer.text), bytes)
      return serial
    },
  }
}

/** A measurement that no build has: one repeated byte. */
export const otherMeasurement = (like: string, byteHex: string): string =>
  byteHex.repeat(like.length / 2)
