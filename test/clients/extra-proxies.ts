/** More proxies before the gateway of a running stack, with flags of their own. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  parseSoftwareIdentity,
  softwareRootFingerprint,
} from '@privatemode/attestation/software/producer'
import type { RunningStack } from '../e2e/running-stack.ts'
import { type ProxyProcess, spawnProxy } from '../proxy/proxy-process.ts'
import { Entrance } from './entrance.ts'

export type ExtraOptions = {
  /** Where the gateway is looked for; the stack's own if unset. */
  readonly apiEndpoint?: string
  /** Hex; the stack's own root if unset. */
  readonly softwareRoot?: string
  /** The proxy's own key; without one, clients bring theirs. */
  readonly apiKey?: string
  /** Flags beyond these. */
  readonly args?: readonly string[]
  /** Runs as the proxyless endpoint. */
  readonly hosted?: boolean
  /** Do not wait until the backend is verified: it will not be. */
  readonly cold?: boolean
}

export type ExtraProxy = { readonly entrance: Entrance; readonly process: ProxyProcess }

export async function startExtraProxy(
  stack: RunningStack,
  options: ExtraOptions = {},
): Promise<ExtraProxy> {
  const at = (...names: string[]) => join(stack.home, ...names)
  const root = await parseSoftwareIdentity(readFileSync(at('keys', 'software-root.json')))
  const fingerprint = options.softwareRoot ?? (await softwareRootFingerprint(root))
  const hosted = [
    ['--hosted', '--hostedSaltSecret', `@${at('keys', 'hosted-salt')}`],
    ['--tlsCertPath', at('tls', 'cert.pem'), '--tlsKeyPath', at('tls', 'key.pem')],
  ]
  const args = [
    ['--apiEndpoint', options.apiEndpoint ?? stack.gatewayUrl],
    ['--manifestPath', at('manifest.json')],
    ['--allowSoftwareAttestation', '--softwareRootFingerprint', fingerprint],
    ...(options.apiKey === undefined ? [] : [['--apiKey', options.apiKey]]),
    ...(options.hosted === true ? hosted : []),
    options.args ?? [],
  ]
  const process = await spawnProxy(args.flat(), { cold: options.cold === true })
  const apiKey = options.apiKey === undefined ? stack.apiKey : undefined
  const ca = options.hosted === true ? stack.ca : undefined
  const name = options.hosted === true ? 'proxyless endpoint' : 'proxy'
  return { process, entrance: new Entrance(name, () => ({ url: process.url, apiKey, ca })) }
}
