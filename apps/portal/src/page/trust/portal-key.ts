/** The API key of these pages: short-lived, one per member, its secret in memory only. */
import { ApiError } from '@privatemode/protocol/api'
import type { IssuedKey, Key } from '@privatemode/protocol/fleet'
import { callApi } from '../api/call-api.ts'
import { session } from '../api/session-store.ts'

/** The name distinguishes it from keys that people created. */
export const portalKeyName = 'Portal: playground and verification'

const lifetimeHours = 8
/** Other tabs continue with the previous secret. */
const overlapSeconds = 3600

let current: Promise<IssuedKey> | undefined

export async function portalKey(): Promise<string> {
  current ??= obtain().catch((error: unknown) => {
    current = undefined
    throw error
  })
  return (await current).secret
}

/** The next call obtains a fresh one: this one was refused. */
export function dropPortalKey(): void {
  current = undefined
}

/** Called at sign-out: the key ends now. A failure does no harm, because the key expires by itself. */
export async function forgetPortalKey(): Promise<void> {
  const key = await current?.catch(() => undefined)
  current = undefined
  if (key === undefined) return
  const body = { expires_at: new Date().toISOString() }
  await callApi('PATCH', `/keys/${key.id}`, body).catch(() => {})
}

/** The same key with a new secret, so that the list of keys does not grow. */
async function obtain(): Promise<IssuedKey> {
  const signedIn = session.get()
  const memberId = signedIn.kind === 'signed-in' ? signedIn.member.id : undefined
  const { keys } = await callApi<{ keys: readonly Key[] }>('GET', '/keys')
  const known = keys.find((key) => isPortalKey(key) && key.created_by === memberId)
  const expires_at = new Date(Date.now() + lifetimeHours * 3_600_000).toISOString()
  const create = () => callApi<IssuedKey>('POST', '/keys', { name: portalKeyName, expires_at })
  if (known === undefined) return create()
  const overlap = { overlap_seconds: overlapSeconds }
  try {
    const issued = await callApi<IssuedKey>('POST', `/keys/${known.id}/rotate`, overlap)
    // After the rotation: admins limit how long a secret lasts.
    await callApi('PATCH', `/keys/${known.id}`, { expires_at })
    return issued
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'permission_denied') throw error
    // An admin set its expiry, possibly this member, who was one then: it cannot be extended.
    await callApi('DELETE', `/keys/${known.id}`)
    return create()
  }
}

export const isPortalKey = (key: Key): boolean =>
  key.name === portalKeyName && key.revoked_at === null
