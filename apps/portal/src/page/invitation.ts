/** The one-time link through which a visitor arrives. */
export type InvitationHint = {
  readonly token: string
  readonly email: string | undefined
  /** The link sets a new password for an existing member. */
  readonly reset: boolean
}

/** Removes a one-time link from the address, so that it does not stay in the history. */
export function takeInvitation(): InvitationHint | undefined {
  const hash = new URLSearchParams(location.hash.slice(1))
  const token = hash.get('invitation')
  if (token === null) return undefined
  history.replaceState(null, '', location.pathname)
  return { token, email: hash.get('email') ?? undefined, reset: hash.has('reset') }
}
