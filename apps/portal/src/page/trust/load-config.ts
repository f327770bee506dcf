/** Reads the operator's configuration for these pages. */
import { ApiError } from '@privatemode/protocol/api'
import { noConfig, type PortalConfig, parsePortalConfig } from '../../config/portal-config.ts'

let loading: Promise<PortalConfig> | undefined

/** Read once; without a configuration, pages say what is missing. */
export function loadConfig(): Promise<PortalConfig> {
  loading ??= read().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return loading
}

async function read(): Promise<PortalConfig> {
  let response: Response
  try {
    response = await fetch('/portal.json', { cache: 'no-cache', redirect: 'error' })
  } catch (cause) {
    throw new ApiError('gateway_unreachable', 'the gateway does not answer', { cause })
  }
  if (response.status === 404) return noConfig
  const config = response.ok ? parsePortalConfig(await response.json()) : undefined
  if (config !== undefined) return config
  throw new ApiError('upstream_error', 'portal.json is not a document that this page understands')
}
