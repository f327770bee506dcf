/** Signing in and out, and one-time links. */
import { ApiError } from '@privatemode/protocol/api'
import type { SessionAnswer } from '@privatemode/protocol/fleet'
import { callApi } from './call-api.ts'
import { session } from './session-store.ts'

/** Loads the session once, when the page opens. */
export async function findSession(): Promise<void> {
  try {
    adopt(await callApi<SessionAnswer>('GET', '/session'))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    session.set({ kind: 'signed-out', ended: false })
  }
}

export async function signIn(email: string, password: string): Promise<void> {
  adopt(await callApi<SessionAnswer>('POST', '/session', { email, password }))
}

export type Acceptance = {
  readonly token: string
  readonly email?: string
  readonly name?: string
  readonly password: string
}

export async function acceptInvitation(acceptance: Acceptance): Promise<void> {
  adopt(await callApi<SessionAnswer>('POST', '/invitations/accept', acceptance))
}

export async function changePassword(oldPassword: string, newPassword: string): Promise<void> {
  const body = { old_password: oldPassword, new_password: newPassword }
  adopt(await callApi<SessionAnswer>('PUT', '/session/password', body))
}

export async function signOut(): Promise<void> {
  await callApi('DELETE', '/session')
  session.set({ kind: 'signed-out', ended: false })
}

export const offersOidc = async (): Promise<boolean> =>
  (await callApi<{ oidc: boolean }>('GET', '/sign-in')).oidc

function adopt({ member, csrf_token: csrfToken }: SessionAnswer): void {
  session.set({ kind: 'signed-in', member, csrfToken })
}
