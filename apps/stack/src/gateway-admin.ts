/** The stack's calls to the gateway's admin API: the first API key, and a link for the first account. */
import type { Home } from './home.ts'
import { StackError } from './stack-error.ts'

export type GatewayAdmin = { readonly url: string; readonly adminToken: string }

/** The first API key; the gateway shows its secret once, and it is kept in the home directory. */
export async function ensureApiKey(home: Home, gateway: GatewayAdmin): Promise<void> {
  await home.once(async () => {
    const name = 'first key of this machine'
    const { secret } = await callAdmin<{ secret?: string }>(gateway, 'POST', '/keys', { name })
    if (secret === undefined)
      throw new StackError('part_failed', 'the gateway did not create an API key')
    return secret
  }, 'api-key')
}

/** A fresh one-time link as long as there is no account; undefined afterwards. */
export async function firstAccountLink(gateway: GatewayAdmin): Promise<string | undefined> {
  const { members } = await callAdmin<{ members: readonly unknown[] }>(gateway, 'GET', '/members')
  if (members.length > 0) return undefined
  const invitation = await callAdmin<{ url: string }>(gateway, 'POST', '/invitations', {
    role: 'admin',
  })
  return invitation.url
}

async function callAdmin<T>(
  { url, adminToken }: GatewayAdmin,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
): Promise<T> {
  const response = await fetch(`${url}/privatemode/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (response.ok) return (await response.json()) as T
  throw new StackError(
    'part_failed',
    `the gateway refused ${method} ${path} (status ${response.status})`,
  )
}
