/** Random ids for objects of the API. */

export function newId(prefix: string): string {
  return prefix + crypto.getRandomValues(new Uint8Array(12)).toHex()
}
