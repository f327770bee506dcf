/** The trust settings of the verification in this browser. */
import type { PortalConfig } from '../../config/portal-config.ts'

export type Trust = {
  readonly manifest: { readonly logKey: string } | { readonly pinned: string }
  readonly softwareRoot: string | undefined
  /** Where the log key or the manifest comes from. */
  readonly from: 'operator' | 'visitor'
}

/** The operator's settings; undefined if the configuration has no log key. */
export function operatorTrust(config: PortalConfig): Trust | undefined {
  if (config.manifestLogKey === undefined) return undefined
  const { manifestLogKey: logKey, softwareRoot } = config
  return { manifest: { logKey }, softwareRoot, from: 'operator' }
}
