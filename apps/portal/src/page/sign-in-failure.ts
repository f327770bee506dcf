/**
 * A failed sign-in through an identity provider: the gateway redirects the browser back with the
 * reason.
 */

/** Removes it from the address, so that a reload does not show it again. */
export function takeSignInFailure(): string | undefined {
  const failure = new URLSearchParams(location.hash.slice(1)).get('sign-in-failed')
  if (failure === null) return undefined
  history.replaceState(null, '', location.pathname)
  return failure
}
