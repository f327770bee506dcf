/** Random ids for API objects. */

export function newId(prefix: string): string {
  return prefix + crypto.getRandomValues(new Uint8Array(12)).toHex()
}
