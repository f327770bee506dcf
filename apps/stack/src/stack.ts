/** Starts the parts in order and waits for each: gateway, worker, proxy, proxyless endpoint. */
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { measureSources } from '@privatemode/worker/measurement'
import { formatBanner } from './banner.ts'
import { findServers } from './find-servers.ts'
import { ensureApiKey, firstAccountLink } from './gateway-admin.ts'
import type { Home } from './home.ts'
import { describeEngine, prepareEngine } from './prepare-models.ts'
import { preparePortal } from './prepare-portal.ts'
import { progressLine } from './progress-line.ts'
import { ensureLogKey, keepPublished, publishManifest } from './publish-manifest.ts'
import type { Settings } from './settings.ts'
import { ensureSoftwareIdentity } from './software-identity.ts'
import { StackError } from './stack-error.ts'
import type { Part, Supervisor } from './supervisor.ts'
import { ensureTlsFiles } from './tls-files.ts'
import { untilReady } from './until-ready.ts'

export type StackParts = {
  readonly home: Home
  readonly supervisor: Supervisor
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const program = (app: string) => fileURLToPath(new URL(`../../${app}/src/main.ts`, import.meta.url))
/** Proxies first, so that no new requests arrive while answers end; the gateway last, for usage reports. */
export const stopOrder = ['proxy', 'proxyless', 'worker', 'gateway']

export async function startStack(
  settings: Settings,
  { home, supervisor, say, signal }: StackParts,
): Promise<void> {
  const startedAt = Date.now()
  for (const port of Object.values(settings.ports)) await requireFreePort(port)
  const found = settings.isDefaultModel ? findServers() : undefined
  const engineArgs = await prepareEngine(home, settings, progressLine(say), signal, say)
  const measurement = Buffer.from(measureSources()).toString('hex')
  const described = await describeEngine(home, settings, engineArgs, program('worker'), measurement)
  const fingerprint = await ensureSoftwareIdentity(home, new Date())
  const logKey = await ensureLogKey(home)
  const facts = { rootFingerprint: fingerprint, measurement, models: described.models }
  const publish = (now: Date) => publishManifest(home, logKey.signer, facts, now)
  await publish(new Date())
  keepPublished(publish, say, signal)
  const tls = ensureTlsFiles(home, new Date())
  const adminToken = await home.once(randomToken, 'keys', 'admin-token')
  await home.once(randomToken, 'keys', 'register-token')
  await home.once(randomToken, 'keys', 'hosted-salt')

  const portalDir = await preparePortal(home, {
    settings,
    logKey: logKey.verifierKey,
    softwareRoot: fingerprint,
    caPath: tls.caPath,
  })
  const gatewayUrl = `http://127.0.0.1:${settings.ports.gateway}`
  const gateway = { url: gatewayUrl, adminToken }
  const ready = (name: string, url: string, ca?: string) =>
    untilReady({ name, url, logPath: supervisor.logPath(name), say, signal, ...(ca && { ca }) })
  supervisor.start(gatewayPart(home, settings, portalDir))
  await ready('gateway', `${gatewayUrl}/health`)
  await ensureApiKey(home, gateway)
  home.write(clientFile(gatewayUrl, logKey.verifierKey, fingerprint), 'client.json')
  supervisor.start(workerPart(home, settings, gatewayUrl, engineArgs))
  const client = clientArgs(settings, gatewayUrl, logKey.verifierKey, fingerprint)
  supervisor.start(proxyPart(home, settings, client))
  supervisor.start(proxylessPart(home, settings, client))
  await ready('proxy', `http://127.0.0.1:${settings.ports.proxy}/ready`)
  const ca = new TextDecoder().decode(home.read('tls', 'ca.pem'))
  await ready('proxyless', `https://127.0.0.1:${settings.ports.proxyless}/health`, ca)
  const named = (task: 'generate' | 'embed') =>
    described.models.find(({ tasks }) => tasks.includes(task))?.id
  say(
    formatBanner({
      settings,
      chatModel: named('generate'),
      embedModel: named('embed'),
      apiKeyPath: home.at('api-key'),
      caPath: tls.caPath,
      portalLink: await firstAccountLink(gateway),
      servers: (await found) ?? [],
      elapsedSeconds: (Date.now() - startedAt) / 1000,
    }),
  )
}

function gatewayPart(home: Home, settings: Settings, portalDir: string): Part {
  const { ports, logLevel } = settings
  const args = [
    ['--port', String(ports.gateway)],
    ['--dataDir', home.at('gateway')],
    ['--adminToken', `@${home.at('keys', 'admin-token')}`],
    ['--registerToken', `@${home.at('keys', 'register-token')}`],
    ['--logDir', home.at('manifest-log')],
    ['--portalDir', portalDir],
    ['--logLevel', logLevel],
  ]
  return { name: 'gateway', program: program('gateway'), args: args.flat() }
}

function workerPart(
  home: Home,
  settings: Settings,
  gatewayUrl: string,
  engineArgs: readonly string[],
): Part {
  const args = [
    ['--port', '0'],
    ['--gatewayUrl', gatewayUrl],
    ['--registerToken', `@${home.at('keys', 'register-token')}`],
    ['--softwareIdentity', home.at('keys', 'software-leaf.json')],
    ['--logLevel', settings.logLevel],
    engineArgs,
  ]
  return { name: 'worker', program: program('worker'), args: args.flat() }
}

function clientArgs(
  settings: Settings,
  gatewayUrl: string,
  logKey: string,
  root: string,
): string[] {
  return [
    ['--apiEndpoint', gatewayUrl],
    ['--manifestLogKey', logKey],
    ['--allowSoftwareAttestation'],
    ['--softwareRootFingerprint', root],
    ['--trafficShape', settings.trafficShape],
    ['--log-level', settings.logLevel],
  ].flat()
}

/**
 * Configuration for programs using the SDK on this machine. No secrets: the API key is in a
 * separate file.
 */
function clientFile(endpoint: string, logKey: string, softwareRoot: string): string {
  return `${JSON.stringify({ endpoint, logKey, softwareRoot }, null, 2)}\n`
}

function proxyPart(home: Home, settings: Settings, client: readonly string[]): Part {
  const args = [
    ['--port', String(settings.ports.proxy)],
    ['--apiKey', `@${home.at('api-key')}`],
    ['--workspace', home.at('proxy')],
    client,
  ]
  return { name: 'proxy', program: program('proxy'), args: args.flat() }
}

function proxylessPart(home: Home, settings: Settings, client: readonly string[]): Part {
  const args = [
    ['--hosted'],
    ['--port', String(settings.ports.proxyless)],
    ['--hostedSaltSecret', `@${home.at('keys', 'hosted-salt')}`],
    ['--tlsCertPath', home.at('tls', 'cert.pem')],
    ['--tlsKeyPath', home.at('tls', 'key.pem')],
    ['--workspace', home.at('proxyless')],
    client,
  ]
  return { name: 'proxyless', program: program('proxy'), args: args.flat() }
}

const randomToken = () => randomBytes(32).toString('base64url')

/** Checked before anything is started, so that a busy port does not leave a half-started system. */
function requireFreePort(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (cause) =>
      reject(
        new StackError(
          'port_busy',
          `port ${port} is in use; stop the other program or choose another port, see npm start -- --help`,
          { cause },
        ),
      ),
    )
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve()))
  })
}
