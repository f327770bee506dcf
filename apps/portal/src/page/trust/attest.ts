/** Verifies the backend from this browser; loaded on demand, because it is most of the code. */
import { Privatemode, parseLogTrust, webStorage } from '@privatemode/sdk'
import type { Trust } from './trust.ts'

export type { Privatemode } from '@privatemode/sdk'

type Fetch = NonNullable<Parameters<typeof Privatemode.connect>[0]['fetch']>

export async function attest(trust: Trust, apiKey: string, fetch: Fetch): Promise<Privatemode> {
  const { manifest, softwareRoot } = trust
  if ('logKey' in manifest) await requireWholeKey(manifest.logKey)
  return Privatemode.connect({
    endpoint: location.origin,
    apiKey,
    manifest,
    fetch,
    // What this browser has seen of the log, so that it cannot be rolled back unnoticed.
    storage: webStorage(localStorage),
    cacheSalt: 'shared-random',
    ...(softwareRoot === undefined ? {} : { software: await acceptTrial(softwareRoot) }),
  })
}

/** A key carries its own checksum: a mistyped key says nothing about the log. */
async function requireWholeKey(logKey: string): Promise<void> {
  try {
    await parseLogTrust({ logKey, witnesses: [], quorum: 0 })
  } catch (cause) {
    throw new MistypedKey('the log key is not a whole key', { cause })
  }
}

class MistypedKey extends Error {
  readonly code = 'log_key_mistyped'
}

/** The code that accepts software evidence is loaded only if the operator's configuration asks for it. */
async function acceptTrial(root: string) {
  const { acceptSoftware } = await import('@privatemode/sdk/software')
  return acceptSoftware(root)
}
