/** Reasoning as the opaque text that clients give back when nothing is stored for them. */

const mark = 'pm1.'

/** It travels inside the sealed exchange only, so that plain base64 is enough. */
export function closeReasoning(reasoning: string): string {
  return mark + new TextEncoder().encode(reasoning).toBase64()
}

/** Undefined for what another service has made. */
export function openReasoning(text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.startsWith(mark)) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text.slice(mark.length)))
  } catch {
    return undefined
  }
}
