/**
 * One manifest for all processes: the supervisor loads and checks it, remembers the log's state and
 * keeps the record; the others ask for it. If two processes remembered the log's state separately,
 * each could roll back the other's.
 */
import {
  createStaticSource,
  type LogFreshness,
  type Manifest,
  type ManifestSource,
} from '@privatemode/sdk'
import type { Channel } from './channel.ts'
import type { LentManifest, ToServing, ToSupervisor } from './questions.ts'

export type ManifestLender = {
  load(): Promise<LentManifest>
  /** A process has verified a machine against this manifest. */
  enforced(digest: string, at: Date): Promise<void>
}

const loadWithinMs = 120_000
const recordWithinMs = 30_000

/** The supervisor's side. */
export function createManifestLender(source: ManifestSource): ManifestLender {
  const lent = new Map<string, Manifest>()
  let loading: Promise<LentManifest> | undefined
  let enforcedSerial = 0
  /** One at a time: two records of one manifest would write the same file. */
  let recording = Promise.resolve()

  async function load(): Promise<LentManifest> {
    const manifest = await source.load()
    lent.set(manifest.digest, manifest)
    // A process may still be verifying against the previous one; older ones are unused.
    const [oldest] = lent.keys()
    if (lent.size > 2 && oldest !== undefined) lent.delete(oldest)
    const proof = source.logProof(manifest)
    const fresh = source.freshness()
    return {
      bytesBase64: Buffer.from(manifest.bytes).toString('base64'),
      proofBase64: proof === undefined ? null : Buffer.from(proof).toString('base64'),
      freshness:
        fresh === undefined
          ? null
          : { asOfMs: fresh.asOf.getTime(), staleAtMs: fresh.staleAt.getTime() },
    }
  }

  return {
    load() {
      loading ??= load().finally(() => {
        loading = undefined
      })
      return loading
    },
    enforced(digest, at) {
      const recorded = recording.then(() => record(digest, at))
      recording = recorded.catch(() => {})
      return recorded
    },
  }

  async function record(digest: string, at: Date): Promise<void> {
    const manifest = lent.get(digest)
    // The record states when a manifest began to be enforced: a late report for an older one adds nothing.
    if (manifest === undefined || manifest.serial < enforcedSerial) return
    enforcedSerial = manifest.serial
    await source.enforced(manifest, at)
  }
}

/** A serving process's side. */
export function borrowManifest(
  channel: Channel<ToSupervisor, ToServing>,
  fixed: boolean,
): ManifestSource {
  let proven: { readonly digest: string; readonly proof: Uint8Array<ArrayBuffer> } | undefined
  let fresh: LogFreshness | undefined
  return {
    fixed,
    freshness: () => fresh,
    logProof: ({ digest }) => (digest === proven?.digest ? proven.proof : undefined),
    async load() {
      const lent = await channel.ask('manifest', null, loadWithinMs)
      const { bytesBase64, proofBase64, freshness } = lent
      const manifest = await createStaticSource(decode(bytesBase64), async () => {}).load()
      if (proofBase64 !== null) proven = { digest: manifest.digest, proof: decode(proofBase64) }
      if (freshness !== null) {
        const { asOfMs, staleAtMs } = freshness
        fresh = { asOf: new Date(asOfMs), staleAt: new Date(staleAtMs) }
      }
      return manifest
    },
    async enforced({ digest }, at) {
      await channel.ask('enforced', { digest, atMs: at.getTime() }, recordWithinMs)
    },
  }
}

const decode = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'))
