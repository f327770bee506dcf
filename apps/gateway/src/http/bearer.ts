/** Reads the credential of a request. */

/** The text after `Bearer `, or undefined; both the scheme's cases are legal (RFC 9110, 11.1). */
export function bearerOf(headers: Headers): string | undefined {
  const value = headers.get('authorization')
  if (value === null || value.length > 512) return undefined
  return /^bearer +(\S+) *$/i.exec(value)?.[1]
}
