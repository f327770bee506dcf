/** What every value under `config`, and of the image, does to the rendered objects of the proxy. */
import {
  container,
  type Effect,
  flag,
  mounted,
  outwardPorts,
  pod,
  same,
  variable,
} from './effects.ts'
import { find, type Values } from './render.ts'

/** Valid keys: with any other, the proxy exits at startup. */
export const logKey = 'log.internal+3e6705a6+AYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c'
const otherLogKey = 'other.internal+637f869a+AYE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU'

/** The least that renders: the chart has no registry, service or log built in. */
export const minimal: Values = {
  image: { repository: 'registry.internal/privatemode-proxy' },
  config: { apiEndpoint: 'api.internal:443', manifestLogKey: logKey },
}

export const hosted: Values = {
  image: { repository: 'registry.internal/privatemode-proxy' },
  config: {
    apiEndpoint: 'api.internal:443',
    manifestLogKey: logKey,
    apiKey: { enabled: false },
    tls: { enabled: true, secretName: 'proxyless-tls' },
    hosted: { enabled: true, saltSecretName: 'proxyless-salt' },
  },
}

export const byHand: Values = {
  image: { repository: 'registry.internal/privatemode-proxy' },
  config: {
    apiEndpoint: 'api.internal:443',
    manifest: { enabled: true, configMapName: 'my-manifest' },
  },
}

export const configEffects: { readonly [path: string]: Effect } = {
  fullnameOverride: { value: 'llm', holds: (all) => all.every((o) => o.metadata.name === 'llm') },
  'image.repository': {
    value: 'elsewhere/proxy',
    holds: (all) => container(all).image === 'elsewhere/proxy:0.1.0',
  },
  'image.tag': { value: '9.9', holds: (all) => container(all).image.endsWith('proxy:9.9') },
  'image.digest': {
    value: `sha256:${'a'.repeat(64)}`,
    holds: (all) => container(all).image.endsWith(`proxy@sha256:${'a'.repeat(64)}`),
  },
  'image.pullPolicy': {
    value: 'Always',
    holds: (all) => container(all).imagePullPolicy === 'Always',
  },
  'image.pullSecrets': {
    value: [{ name: 'login' }],
    holds: (all) => same(pod(all).spec.imagePullSecrets, [{ name: 'login' }]),
  },
  replicaCount: { value: 3, holds: (all) => find(all, 'Deployment').spec.replicas === 3 },
  'config.apiEndpoint': {
    value: 'other.internal:8443',
    holds: (all) =>
      flag('--apiEndpoint=other.internal:8443')(all) && outwardPorts(all).includes(8443),
  },
  'config.apiKey.enabled': {
    value: false,
    holds: (all) => !container(all).args.some((arg: string) => arg.startsWith('--apiKey')),
  },
  'config.apiKey.secretName': {
    value: 'my-key',
    holds: mounted('secret', 'my-key', '/etc/privatemode/api-key'),
  },
  'config.manifestEndpoint': {
    value: 'https://log.internal:9443/manifests',
    holds: (all) =>
      flag('--manifestEndpoint=https://log.internal:9443/manifests')(all) &&
      outwardPorts(all).includes(9443),
  },
  'config.manifestLogKey': {
    value: otherLogKey,
    holds: flag(`--manifestLogKey=${otherLogKey}`),
  },
  'config.manifestMaxAgeHours': { value: 24, holds: flag('--manifestMaxAgeHours=24') },
  'config.manifest.enabled': {
    and: { config: { manifestLogKey: '', manifest: { configMapName: 'm' } } },
    value: true,
    holds: flag('--manifestPath=/etc/privatemode/manifest/manifest.json'),
  },
  'config.manifest.configMapName': {
    over: byHand,
    value: 'm2',
    holds: mounted('configMap', 'm2', '/etc/privatemode/manifest'),
  },
  'config.manifest.fileName': {
    over: byHand,
    value: 'm.json',
    holds: flag('--manifestPath=/etc/privatemode/manifest/m.json'),
  },
  'config.manifest.mountPath': {
    over: byHand,
    value: '/m/',
    holds: (all) =>
      flag('--manifestPath=/m/manifest.json')(all) &&
      mounted('configMap', 'my-manifest', '/m/')(all),
  },
  'config.sharedPromptCache.enabled': { value: true, holds: flag('--sharedPromptCache') },
  'config.promptCacheSalt.enabled': {
    and: { config: { sharedPromptCache: { enabled: true }, promptCacheSalt: { secretName: 's' } } },
    value: true,
    holds: flag('--promptCacheSalt=@/etc/privatemode/prompt-cache-salt/promptCacheSalt'),
  },
  'config.promptCacheSalt.secretName': {
    and: { config: { sharedPromptCache: { enabled: true }, promptCacheSalt: { enabled: true } } },
    value: 'salt',
    holds: mounted('secret', 'salt', '/etc/privatemode/prompt-cache-salt'),
  },
  'config.workspace.enabled': {
    and: { config: { workspace: { volumeClaimName: 'claim' } } },
    value: true,
    holds: (all) => find(all, 'Deployment').spec.strategy.type === 'Recreate',
  },
  'config.workspace.volumeClaimName': {
    and: { config: { workspace: { enabled: true } } },
    value: 'claim',
    holds: mounted('persistentVolumeClaim', 'claim', '/workspace'),
  },
  'config.tls.enabled': {
    and: { config: { tls: { secretName: 't' } } },
    value: true,
    holds: (all) =>
      flag('--tlsCertPath=/etc/privatemode/tls/tls.crt')(all) &&
      flag('--tlsKeyPath=/etc/privatemode/tls/tls.key')(all) &&
      container(all).readinessProbe.httpGet.scheme === 'HTTPS' &&
      find(all, 'Service').spec.ports[0].name === 'https',
  },
  'config.tls.secretName': {
    and: { config: { tls: { enabled: true } } },
    value: 'cert',
    holds: mounted('secret', 'cert', '/etc/privatemode/tls'),
  },
  'config.customCA.enabled': {
    and: { config: { customCA: { secretName: 'ca' } } },
    value: true,
    holds: variable('SSL_CERT_FILE', '/etc/privatemode/custom-ca/ca.crt'),
  },
  'config.customCA.secretName': {
    and: { config: { customCA: { enabled: true } } },
    value: 'ca',
    holds: mounted('secret', 'ca', '/etc/privatemode/custom-ca'),
  },
  'config.customCA.fileName': {
    and: { config: { customCA: { enabled: true, secretName: 'ca' } } },
    value: 'corp.pem',
    holds: variable('SSL_CERT_FILE', '/etc/privatemode/custom-ca/corp.pem'),
  },
  'config.extraEnv': {
    value: [{ name: 'https_proxy', value: 'http://u:p@out.internal:3128' }],
    holds: (all) =>
      variable('https_proxy', 'http://u:p@out.internal:3128')(all) &&
      outwardPorts(all).includes(3128),
  },
  'config.vendorOCSPAllowUnknown': { value: false, holds: flag('--vendorOCSPAllowUnknown=false') },
  'config.vendorOCSPRevokedGracePeriod': {
    value: 0,
    holds: flag('--vendorOCSPRevokedGracePeriod=0'),
  },
  'config.logFormat': { value: 'text', holds: flag('--log-format=text') },
  'config.logLevel': { value: -4, holds: flag('--log-level=-4') },
  'config.receipts': { value: true, holds: flag('--receipts=/workspace/receipts.jsonl') },
  'config.dumpRequests': { value: true, holds: flag('--dumpRequests') },
  'config.port': {
    value: 9000,
    holds: (all) => flag('--port=9000')(all) && container(all).ports[0].containerPort === 9000,
  },
  'config.listenAddress': { value: '::', holds: flag('--listenAddress=::') },
  'config.allowedHosts': { value: ['a.b', 'c'], holds: flag('--allowedHosts=a.b,c') },
  'config.trafficShape': { value: 'strict', holds: flag('--trafficShape=strict') },
  'config.workers': { value: 2, holds: flag('--workers=2') },
  'config.bodyLimitMib': { value: 64, holds: flag('--bodyLimitMib=64') },
  'config.answerSilenceSeconds': { value: 30, holds: flag('--answerSilenceSeconds=30') },
  'config.answerLimitMinutes': { value: 240, holds: flag('--answerLimitMinutes=240') },
  'config.drainSeconds': {
    value: 90,
    holds: (all) =>
      flag('--drainSeconds=90')(all) && pod(all).spec.terminationGracePeriodSeconds === 105,
  },
  'config.metrics': { value: true, holds: flag('--metrics') },
  'config.cacheCheckMinutes': { value: 60, holds: flag('--cacheCheckMinutes=60') },
  'config.softwareAttestation.enabled': {
    and: { config: { softwareAttestation: { rootFingerprint: 'b'.repeat(64) } } },
    value: true,
    holds: flag('--allowSoftwareAttestation'),
  },
  'config.softwareAttestation.rootFingerprint': {
    and: { config: { softwareAttestation: { enabled: true } } },
    value: 'c'.repeat(64),
    holds: flag(`--softwareRootFingerprint=${'c'.repeat(64)}`),
  },
  'config.hosted.enabled': {
    and: {
      config: {
        apiKey: { enabled: false },
        tls: { enabled: true, secretName: 't' },
        hosted: { saltSecretName: 's' },
      },
    },
    value: true,
    holds: flag('--hosted'),
  },
  'config.hosted.saltSecretName': {
    over: hosted,
    value: 'salt2',
    holds: (all) =>
      flag('--hostedSaltSecret=@/etc/privatemode/hosted-salt/hostedSaltSecret')(all) &&
      mounted('secret', 'salt2', '/etc/privatemode/hosted-salt')(all),
  },
  'config.hosted.deploymentManifest.configMapName': {
    over: hosted,
    value: 'd',
    holds: mounted('configMap', 'd', '/etc/privatemode/deployment'),
  },
  'config.hosted.deploymentManifest.fileName': {
    over: hosted,
    and: { config: { hosted: { deploymentManifest: { configMapName: 'd' } } } },
    value: 'x.json',
    holds: flag('--hostedManifestPath=/etc/privatemode/deployment/x.json'),
  },
}
