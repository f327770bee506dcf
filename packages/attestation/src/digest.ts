/** SHA-2 over whole byte strings, through WebCrypto. */
import { type Bytes, formatHex } from './bytes.ts'

export async function sha256(bytes: Uint8Array): Promise<Bytes> {
  return digest('SHA-256', bytes)
}

export async function sha384(bytes: Uint8Array): Promise<Bytes> {
  return digest('SHA-384', bytes)
}

export async function sha512(bytes: Uint8Array): Promise<Bytes> {
  return digest('SHA-512', bytes)
}

/** The form that manifests and statements use for files: `sha256:` and 64 hex digits. */
export async function namedSha256(bytes: Uint8Array): Promise<string> {
  return `sha256:${formatHex(await sha256(bytes))}`
}

async function digest(algorithm: string, bytes: Uint8Array): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest(algorithm, bytes as Bytes))
}
