/** The operator's configuration for the pages: `portal.json`, next to `index.html`. */

export type PortalConfig = {
  /** The key that signs the manifest log, against which visitors verify the backend. */
  readonly manifestLogKey: string | undefined
  /** SHA-256 (hex) of the root of software attestation; for development only. */
  readonly softwareRoot: string | undefined
  /** Address of a proxy already running on the visitor's machine; only the local stack knows it. */
  readonly proxyUrl: string | undefined
  readonly proxylessUrl: string | undefined
  /** A file with the proxyless endpoint's certificate authority, if browsers do not know it. */
  readonly proxylessCaFile: string | undefined
}

type Wire = {
  readonly version?: unknown
  readonly manifest_log_key?: unknown
  readonly software_root?: unknown
  readonly proxy_url?: unknown
  readonly proxyless_url?: unknown
  readonly proxyless_ca_file?: unknown
}

export const noConfig: PortalConfig = {
  manifestLogKey: undefined,
  softwareRoot: undefined,
  proxyUrl: undefined,
  proxylessUrl: undefined,
  proxylessCaFile: undefined,
}

export function formatPortalConfig(config: PortalConfig): string {
  const wire: Wire = {
    version: 1,
    manifest_log_key: config.manifestLogKey,
    software_root: config.softwareRoot,
    proxy_url: config.proxyUrl,
    proxyless_url: config.proxylessUrl,
    proxyless_ca_file: config.proxylessCaFile,
  }
  return `${JSON.stringify(wire, null, 2)}\n`
}

/** Undefined if these pages do not understand the document. */
export function parsePortalConfig(value: unknown): PortalConfig | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const wire = value as Wire
  if (wire.version !== 1) return undefined
  return {
    manifestLogKey: text(wire.manifest_log_key),
    softwareRoot: text(wire.software_root),
    proxyUrl: origin(wire.proxy_url),
    proxylessUrl: origin(wire.proxyless_url),
    proxylessCaFile: text(wire.proxyless_ca_file),
  }
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Snippets are pasted into shells: only an origin is allowed. */
function origin(value: unknown): string | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : undefined
}
