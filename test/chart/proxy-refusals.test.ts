/** Invalid values are refused before anything reaches a cluster, with a message that says what to do. */
import { expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { readSettings } from '../../apps/proxy/src/settings.ts'
import { hosted, minimal } from './proxy-config-effects.ts'
import { chartFolder, render, type Values, withoutHelm, withValue } from './render.ts'

const chart = chartFolder('chart')
const messageOf = (values: Values) => {
  const rendered = render(chart, values)
  return rendered.kind === 'refused' ? rendered.message : 'rendered'
}

/** Path, wrong value, and what the message must name. */
const wrongValues: readonly [string, unknown, string][] = [
  ['config.apiEndpiont', 'typo', 'apiEndpiont'],
  ['surprise', 1, 'surprise'],
  ['config.port', '8080', '/config/port'],
  ['config.port', 80, '/config/port'],
  ['config.port', 70000, '/config/port'],
  ['config.logFormat', 'xml', '/config/logFormat'],
  ['config.logLevel', 'loud', '/config/logLevel'],
  ['config.trafficShape', 'round', '/config/trafficShape'],
  ['config.vendorOCSPRevokedGracePeriod', -1, '/config/vendorOCSPRevokedGracePeriod'],
  ['config.workers', 0, '/config/workers'],
  ['config.bodyLimitMib', 0, '/config/bodyLimitMib'],
  ['config.drainSeconds', 1.5, '/config/drainSeconds'],
  ['config.tls.enabled', 'yes', '/config/tls/enabled'],
  ['config.tls.secretName', 'Not_A_Name', '/config/tls/secretName'],
  ['config.manifest.fileName', '../../etc/passwd', '/config/manifest/fileName'],
  ['config.manifest.mountPath', 'relative', '/config/manifest/mountPath'],
  ...[':443', 'https://', 'host:99999', 'host:abc', 'host:', 'a?b', 'https://a/#b'].map(
    (endpoint): [string, unknown, string] => [
      'config.apiEndpoint',
      endpoint,
      '/config/apiEndpoint',
    ],
  ),
  ['config.customCA.fileName', 'a/b', '/config/customCA/fileName'],
  ['config.extraEnv', [{ value: 'x' }], '/config/extraEnv/0'],
  ['config.extraEnv', [{ name: 'A B', value: 'x' }], '/config/extraEnv/0/name'],
  ['config.softwareAttestation.rootFingerprint', 'ab', '/config/softwareAttestation'],
  ['config.allowedHosts', ['a,b'], '/config/allowedHosts/0'],
  ['config.manifestLogKey', 'two words', '/config/manifestLogKey'],
  ['image.digest', 'latest', '/image/digest'],
  ['image.pullPolicy', 'Sometimes', '/image/pullPolicy'],
  ['replicaCount', -1, '/replicaCount'],
  ['service.type', 'ExternalName', '/service/type'],
  ['networkPolicy.egressCIDRs', ['api.internal'], '/networkPolicy/egressCIDRs/0'],
  ['networkPolicy.egressCIDRs', [], '/networkPolicy/egressCIDRs'],
  ['podDisruptionBudget.maxUnavailable', 'some', '/podDisruptionBudget/maxUnavailable'],
  ['probes.liveness.path', 'health', '/probes/liveness/path'],
  ['serviceMonitor.interval', 'often', '/serviceMonitor/interval'],
]

/** What is laid over values that render, and what the message must say. */
const contradictions: readonly [Values, string, unknown, string][] = [
  [minimal, 'image.repository', '', 'set image.repository'],
  [minimal, 'config.apiEndpoint', '', 'set config.apiEndpoint'],
  [minimal, 'config.apiEndpoint', 'http://gateway.internal:8090', 'which the proxy refuses'],
  [minimal, 'config.manifestEndpoint', 'http://log.internal', 'which the proxy refuses'],
  [minimal, 'config.manifestLogKey', '', 'set config.manifestLogKey'],
  [minimal, 'config.apiKey.secretName', '', 'needs config.apiKey.secretName'],
  [minimal, 'config.manifest', { enabled: true, configMapName: 'm' }, 'two sources'],
  [withoutKey(), 'config.manifest.configMapName', '', 'needs config.manifest.configMapName'],
  [minimal, 'config.promptCacheSalt', { enabled: true, secretName: 's' }, 'sharedPromptCache'],
  [shared(), 'config.promptCacheSalt.enabled', true, 'needs config.promptCacheSalt.secretName'],
  [minimal, 'config.workspace.enabled', true, 'needs config.workspace.volumeClaimName'],
  [kept(), 'replicaCount', 2, 'keeps the record of one proxy'],
  [kept(), 'autoscaling.enabled', true, 'keeps the record of one proxy'],
  [withoutKey(), 'config.manifest.mountPath', '/workspace', 'mounts something else'],
  [withoutKey(), 'config.manifest.mountPath', '/tmp/', 'mounts something else'],
  [minimal, 'autoscaling', { enabled: true, minReplicas: 9, maxReplicas: 3 }, 'minReplicas is 9'],
  [minimal, 'config.tls.enabled', true, 'needs config.tls.secretName'],
  [minimal, 'config.customCA.enabled', true, 'needs config.customCA.secretName'],
  [minimal, 'config.softwareAttestation.enabled', true, 'both enabled and rootFingerprint'],
  [minimal, 'config.softwareAttestation.rootFingerprint', 'a'.repeat(64), 'both enabled and'],
  [minimal, 'serviceMonitor.enabled', true, 'needs config.metrics'],
  [minimal, 'config.hosted.saltSecretName', 's', 'are for config.hosted.enabled'],
  [hosted, 'config.hosted.saltSecretName', '', 'needs config.hosted.saltSecretName'],
  [hosted, 'config.tls.enabled', false, 'serves HTTPS only'],
  [hosted, 'config.apiKey.enabled', true, 'under its own key'],
  [hosted, 'config.sharedPromptCache.enabled', true, 'one cache per API key'],
  [hosted, 'config.dumpRequests', true, "other people's prompts"],
  [hosted, 'config.allowedHosts', ['a'], 'under every name'],
]

unlessMissing(withoutHelm).describe('the chart of the proxy refuses', () => {
  for (const [path, value, named] of wrongValues) {
    test(`${path}: ${JSON.stringify(value)}`, () => {
      expect(messageOf(withValue(minimal, path, value))).toContain(named)
    })
  }
  for (const [values, path, value, said] of contradictions) {
    test(`${path}: ${JSON.stringify(value)}, since it contradicts the rest`, () => {
      expect(messageOf(values)).toBe('rendered')
      expect(messageOf(withValue(values, path, value))).toContain(said)
    })
  }
})

unlessMissing(withoutHelm).test(
  'every way to write an endpoint that the proxy reads is accepted',
  () => {
    const written = [
      'a',
      'a:443',
      'a.b-c.internal:65535',
      '10.0.0.1:8443',
      '[fd00::1]:443',
      '[::1]',
    ]
    for (const endpoint of [...written, 'https://a', 'https://a:1/b/c', 'http://localhost:8090']) {
      const set = withValue(minimal, 'config.apiEndpoint', endpoint)
      expect({ endpoint, said: messageOf(set) }).toEqual({ endpoint, said: 'rendered' })
      const args = ['--apiEndpoint', endpoint, '--manifestLogKey', 'log+key']
      expect(readSettings({ args, env: {} }).kind).toBe('settings')
    }
  },
)

function withoutKey(): Values {
  const values = withValue(minimal, 'config.manifestLogKey', '')
  return withValue(values, 'config.manifest', { enabled: true, configMapName: 'm' })
}

function shared(): Values {
  return withValue(minimal, 'config.sharedPromptCache.enabled', true)
}

function kept(): Values {
  return withValue(minimal, 'config.workspace', { enabled: true, volumeClaimName: 'c' })
}
