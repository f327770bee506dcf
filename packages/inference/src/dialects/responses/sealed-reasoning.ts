/** Reasoning as the opaque text that clients send back when nothing is stored for them. */

const mark = 'pm1.'

/** It is only sent inside the sealed exchange, so plain base64 is enough. */
export function closeReasoning(reasoning: string): string {
  return mark + new TextEncoder().encode(reasoning).toBase64()
}

/** Undefined for text created by another service. */
export function openReasoning(text: unknown): string | undefined {
  if (typeof text !== 'string' || !text.startsWith(mark)) return undefined
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text.slice(mark.length)))
  } catch {
    return undefined
  }
}
