/** Authenticates a relayed request to its worker, under the key that the worker registered. */
import { type RelayedRequest, relayText } from '@privatemode/protocol/fleet'

/** Preparing a key costs as much as the MAC; each view of the workers has its own key objects. */
const prepared = new WeakMap<Uint8Array, Bun.CryptoHasher>()

export function signRelay(relayKey: Uint8Array, request: RelayedRequest): string {
  let keyed = prepared.get(relayKey)
  if (keyed === undefined) {
    keyed = new Bun.CryptoHasher('sha256', relayKey)
    prepared.set(relayKey, keyed)
  }
  return keyed.copy().update(relayText(request)).digest('base64url')
}
