/** Selects the verified workers that a request is sealed to. */
import {
  andThen,
  type CryptoProvider,
  type Eventually,
  encodeText,
} from '@privatemode/protocol/envelope'

type Named = { readonly workerId: string }

const label = 'privatemode/v1/candidates\0'

/**
 * With a lasting salt, uses rendezvous hashing: the same salt selects the same workers and their
 * warm caches, and the gateway learns nothing more. Without one, selects at random.
 */
export function chooseCandidates<W extends Named>(
  provider: CryptoProvider,
  workers: readonly W[],
  salt: string | undefined,
  count: number,
): Eventually<readonly W[]> {
  if (workers.length < 2) return workers
  if (salt === undefined) return drawAtRandom(provider, workers, count)
  const digests = workers.map(({ workerId }) =>
    provider.sha256(encodeText(`${label}${salt.length}:${salt}${workerId}`)),
  )
  const first = digests[0]
  const settled = first instanceof Promise ? Promise.all(digests) : (digests as Uint8Array[])
  return andThen(settled as Eventually<Uint8Array[]>, (scores) =>
    workers
      .map((worker, index) => ({ worker, score: scores[index] ?? new Uint8Array() }))
      .sort((a, b) => compareBytes(b.score, a.score))
      .slice(0, count)
      .map(({ worker }) => worker),
  )
}

function drawAtRandom<W>(provider: CryptoProvider, workers: readonly W[], count: number): W[] {
  const draws = provider.random(4 * workers.length)
  const view = new DataView(draws.buffer, draws.byteOffset, draws.byteLength)
  return workers
    .map((worker, index) => ({ worker, draw: view.getUint32(4 * index) }))
    .sort((a, b) => a.draw - b.draw)
    .slice(0, count)
    .map(({ worker }) => worker)
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
