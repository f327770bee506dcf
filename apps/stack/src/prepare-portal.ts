/** Builds the portal for this machine and writes the configuration its pages need. */
import { ensurePortal, formatPortalConfig } from '@privatemode/portal'
import type { Home } from './home.ts'
import type { Settings } from './settings.ts'

export type PortalFacts = {
  readonly settings: Settings
  readonly logKey: string
  readonly softwareRoot: string
  readonly caPath: string
}

/** Returns the directory that the gateway serves. */
export async function preparePortal(home: Home, facts: PortalFacts): Promise<string> {
  const folder = home.at('portal')
  await ensurePortal(folder)
  const { proxy, proxyless } = facts.settings.ports
  const config = formatPortalConfig({
    manifestLogKey: facts.logKey,
    softwareRoot: facts.softwareRoot,
    proxyUrl: `http://127.0.0.1:${proxy}`,
    proxylessUrl: `https://127.0.0.1:${proxyless}`,
    proxylessCaFile: facts.caPath,
  })
  home.write(config, 'portal', 'portal.json')
  return folder
}
