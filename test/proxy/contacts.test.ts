/** Which hosts the real proxy contacts, including DNS lookups: only the manifest host and the backend. */
import { afterAll, beforeAll, expect } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publishEntry } from '@privatemode/attestation'
import { createTestAuthority, unlessMissing } from '@privatemode/service/testing'
import { newSigner } from '../../packages/attestation/src/testing/memory-log.ts'
import { type ManifestHost, startManifestHost } from './manifest-host.ts'
import {
  addresses,
  countersOf,
  createNetworkNamespace,
  removeWire,
  whyNoNamespace,
} from './network-namespace.ts'
import { type ProxyProcess, spawnProxy, systemArgs, withoutFlags } from './proxy-process.ts'
import { startResolver, startTlsFront } from './recording-hosts.ts'
import {
  chat,
  chatPath,
  post,
  type ScriptedSystem,
  startScriptedSystem,
} from './scripted-system.ts'

const folder = mkdtempSync(join(tmpdir(), 'privatemode-contacts-'))
let scripted: ScriptedSystem
let host: ManifestHost
let args: string[]

beforeAll(async () => {
  scripted = await startScriptedSystem()
  host = startManifestHost()
  const signer = await newSigner('manifest.service.test')
  await publishEntry(host.log, signer, scripted.system.manifest)
  args = withoutFlags(systemArgs(scripted.system), ['--apiEndpoint', '--manifestPath'])
  args.push('--manifestLogKey', signer.verifierKey, '--apiKey', scripted.system.apiKey)
}, 150_000)

afterAll(async () => {
  await host.stop()
  await scripted.system.stop()
}, 240_000)

/** Everything that applications and people do with a proxy. */
async function useEverything(proxy: ProxyProcess): Promise<void> {
  for (const over of [{}, { stream: true }, { model: 'nobody/has-it' }]) {
    await (await post(proxy, chatPath, chat(over))).text()
  }
  for (const path of ['/', '/ready', '/metrics', '/v1/models', '/privatemode/v1/verification']) {
    await (await fetch(proxy.url + path)).text()
  }
}

const noNamespace = whyNoNamespace()

unlessMissing(noNamespace).test(
  'in a separate network: every packet goes to one of the two, or resolves their names',
  async () => {
    const authority = createTestAuthority('Hosts CA')
    const bundle = join(folder, 'bundle.pem')
    writeFileSync(bundle, authority.certPem)
    const { backend: backendAddress, manifest: manifestAddress, inside, resolver } = addresses
    const namespace = createNetworkNamespace()
    const names = {
      'api.service.test': backendAddress,
      'manifest.service.test': manifestAddress,
    }
    const tls = authority.issue(Object.keys(names))
    const [dns, backend, manifest] = await Promise.all([
      startResolver(resolver, names),
      startTlsFront(backendAddress, tls, scripted.system.gatewayUrl),
      startTlsFront(manifestAddress, tls, host.url),
    ])
    // There is no such proxy; the two hosts are excepted from it.
    const aroundProxy = { https_proxy: `http://${resolver}:9`, no_proxy: '.service.test' }
    let proxy: ProxyProcess | undefined
    try {
      const endpoints = ['--apiEndpoint', 'api.service.test:443']
      endpoints.push('--manifestEndpoint', 'manifest.service.test:443')
      proxy = await spawnProxy([...args, ...endpoints, '--metrics', '--listenAddress', inside], {
        env: { SSL_CERT_FILE: bundle, ...aroundProxy },
        inside: namespace,
      })
      await useEverything(proxy)
      const counted = countersOf(proxy.pid)
      expect(new Set(dns.asked)).toEqual(new Set(Object.keys(names)))
      expect(manifest.accepted()).toBeGreaterThan(0)
      expect(backend.accepted()).toBeGreaterThan(0)
      // The kernel's own books of that network: no connection and no datagram that we did not get.
      expect(counted['Tcp.ActiveOpens']).toBe(manifest.accepted() + backend.accepted())
      expect(counted['Udp.OutDatagrams']).toBe(dns.asked.length)
      for (const name of ['Udp6OutDatagrams', 'Ip.OutNoRoutes', 'Ip6OutNoRoutes', 'Icmp.OutMsgs']) {
        expect({ name, count: counted[name] }).toEqual({ name, count: 0 })
      }
    } finally {
      await proxy?.stop()
      dns.stop()
      backend.stop()
      manifest.stop()
      removeWire()
    }
  },
  240_000,
)

const strace = spawnSync('strace', ['-V']).status === 0

unlessMissing(strace ? undefined : 'strace is not installed').test(
  'traced: no call of the whole program, its processes included, reaches for anything else',
  async () => {
    const trace = join(folder, 'trace')
    const calls = 'trace=connect,sendto,sendmsg,sendmmsg'
    const proxy = await spawnProxy(
      [
        ...args,
        '--apiEndpoint',
        scripted.system.gatewayUrl,
        '--manifestEndpoint',
        host.url,
        '--metrics',
        '--workers',
        '2',
      ],
      { inside: { command: ['strace', '-D', '-f', '-qq', '-e', calls, '-o', trace] } },
    )
    await useEverything(proxy)
    await proxy.stop()
    const reached = new Set<string>()
    for (const line of readFileSync(trace, 'utf8').split('\n')) {
      const family = /sa_family=(AF_\w+)/.exec(line)?.[1]
      if (family === undefined) continue
      const port = /sin6?_port=htons\((\d+)\)/.exec(line)?.[1]
      const address = /inet_addr\("([^"]+)"\)/.exec(line)?.[1]
      reached.add(port === undefined ? family : `${address ?? family}:${port}`)
    }
    const gateway = new URL(scripted.system.gatewayUrl)
    expect(reached).toEqual(new Set([`127.0.0.1:${gateway.port}`, `127.0.0.1:${host.port}`]))
  },
  240_000,
)
