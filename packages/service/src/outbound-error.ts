/** Explains a failed outbound request in one sentence, with a code and the remedy, if there is one. */
import { chooseProxy } from './proxy-choice.ts'
import { ServiceError } from './service-error.ts'

type Env = Readonly<Record<string, string | undefined>>

const unknownAuthority: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
])

/** Explains an error of `fetch` or of reading its body; returns our own errors unchanged. */
export async function explainOutboundError(
  error: unknown,
  url: URL,
  env: Env,
): Promise<ServiceError> {
  if (error instanceof ServiceError) return error
  const { name, code } = error as { name?: unknown; code?: unknown }
  const proxy = chooseProxy(url, env)
  const via = proxy === undefined ? '' : ` through the proxy ${new URL(proxy).host}`
  if (typeof code === 'string' && unknownAuthority.has(code)) {
    // Loaded on demand, to keep startup fast.
    const { nameUnknownAuthority } = await import('./name-authority.ts')
    const authority = await nameUnknownAuthority(url, proxy)
    return explained(
      'unknown_authority',
      `the certificate of ${url.host} is signed by an unknown authority${authority}; behind a TLS inspection ` +
        'appliance, set SSL_CERT_FILE to a PEM bundle that contains its CA',
    )
  }
  if (name === 'TimeoutError')
    return explained('timeout', `${url.host} did not answer in time${via}`)
  if (name === 'AbortError') return explained('aborted', `the request to ${url.host} was aborted`)
  switch (code) {
    case 'ENOTFOUND':
      return explained('host_unknown', `the name ${url.hostname} cannot be resolved${via}`)
    case 'ECONNREFUSED':
      return explained('connection_refused', `${url.host} refuses connections${via}`)
    case 'ERR_PROXY_TUNNEL':
      return explained('tunnel_refused', `the tunnel to ${url.host} was refused${via}`)
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return explained('certificate_refused', `the certificate of ${url.host} is refused: ${code}`)
  }
  return explained('connection_lost', `the connection to ${url.host} was lost${via}`)

  function explained(as: ServiceError['code'], message: string): ServiceError {
    return new ServiceError(as, message, { cause: error })
  }
}
