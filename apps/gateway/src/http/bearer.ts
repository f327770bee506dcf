/** Reads the credential of a request. */

/** The credential after `Bearer `, case-insensitive (RFC 9110, 11.1), or undefined. */
export function bearerOf(authorization: string | null | undefined): string | undefined {
  if (authorization === null || authorization === undefined) return undefined
  const isBearer =
    authorization.startsWith('Bearer ') || authorization.slice(0, 7).toLowerCase() === 'bearer '
  return isBearer && authorization.length < 512 ? authorization.slice(7).trim() : undefined
}
