/** The command that starts a proxy for this gateway. */
import { shellWord } from './shell-word.ts'

export type ProxyInputs = {
  /** The gateway's address, as the visitor's browser reached it. */
  readonly gatewayOrigin: string
  readonly logKey: string
  readonly softwareRoot: string | undefined
}

export function formatProxyCommand({ gatewayOrigin, logKey, softwareRoot }: ProxyInputs): string {
  const url = new URL(gatewayOrigin)
  const port = url.port === '' ? '443' : url.port
  // The proxy accepts host and port, and plain HTTP only to its own machine.
  const endpoint = url.protocol === 'https:' ? `${url.hostname}:${port}` : url.origin
  return [
    `privatemode-proxy --apiEndpoint ${shellWord(endpoint)}`,
    `--manifestLogKey ${shellWord(logKey)}`,
    '--apiKey @api-key.txt',
    ...(softwareRoot === undefined
      ? []
      : ['--allowSoftwareAttestation', `--softwareRootFingerprint ${shellWord(softwareRoot)}`]),
  ].join(' \\\n  ')
}
