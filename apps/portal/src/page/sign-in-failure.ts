/** A sign-in through an identity provider that came to nothing: the gateway sends the browser back with it. */

/** Takes it out of the address, so that a reload does not say it again. */
export function takeSignInFailure(): string | undefined {
  const failure = new URLSearchParams(location.hash.slice(1)).get('sign-in-failed')
  if (failure === null) return undefined
  history.replaceState(null, '', location.pathname)
  return failure
}
