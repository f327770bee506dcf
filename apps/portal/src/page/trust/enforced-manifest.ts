/** The manifest that this connection enforces. */
import type { Verified } from './connection.ts'

/** Its exact text: it is part of the evidence that this page exports. */
export function manifestText({ client }: Verified): string {
  const bundle = JSON.parse(new TextDecoder().decode(client.verification.bundle().bytes)) as {
    readonly manifest: string
  }
  const bytes = Uint8Array.from(atob(bundle.manifest), (char) => char.charCodeAt(0))
  return new TextDecoder().decode(bytes)
}
