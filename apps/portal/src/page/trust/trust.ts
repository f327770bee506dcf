/** Whom the verification in this browser believes. */
import type { PortalConfig } from '../../config/portal-config.ts'

export type Trust = {
  readonly manifest: { readonly logKey: string } | { readonly pinned: string }
  readonly softwareRoot: string | undefined
  /** Who named the log key or the manifest. */
  readonly from: 'operator' | 'visitor'
}

/** What the gateway's operator says; undefined where the document has no log key. */
export function operatorTrust(config: PortalConfig): Trust | undefined {
  if (config.manifestLogKey === undefined) return undefined
  const { manifestLogKey: logKey, softwareRoot } = config
  return { manifest: { logKey }, softwareRoot, from: 'operator' }
}
