/** Contradictory or meaningless values are refused with a helpful message. */
import { expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { backend, chat } from './backend-values.ts'
import { merge } from './effects.ts'
import { minimal } from './proxy-config-effects.ts'
import {
  chartFolder,
  find,
  type KubernetesObject,
  render,
  renderNotes,
  renderObjects,
  type Values,
  withoutHelm,
  withValue,
} from './render.ts'

const chart = chartFolder('backend')
const messageOf = (values: Values) => {
  const rendered = render(chart, values)
  return rendered.kind === 'refused' ? rendered.message : 'rendered'
}

const autoscaling = { prometheusUrl: 'http://prometheus:9090', maxReplicas: 4 }

const refusals: readonly [Values, string][] = [
  [{}, 'set images.gateway'],
  [withValue(backend, 'gateway.tls.secretName', ''), 'needs gateway.tls.secretName'],
  [withValue(backend, 'gateway.oidc.issuer', 'https://a'), 'needs gateway.oidc.clientId'],
  [withValue(backend, 'gateway.oidc.clientId', 'a'), 'have no effect without'],
  [
    withValue(backend, 'gateway.oidc', { issuer: 'https://a', clientId: 'a', secretName: 'a' }),
    'to come back to',
  ],
  [withValue(backend, 'gateway.limits.maxRequest', 1), 'maxRequest'],
  [withValue(backend, 'database.secretName', ''), 'set database.secretName'],
  [withValue(backend, 'manifestHost.enabled', true), 'needs manifestHost.image'],
  [withValue(backend, 'manifestRefresh.secretName', 'key'), 'set images.verify'],
  [
    withValue(backend, 'manifestRefresh.volumeClaimName', 'log'),
    'without manifestRefresh.secretName',
  ],
  [
    withValue(backend, 'manifestRefresh.manifestConfigMapName', 'm'),
    '.manifestConfigMapName have no effect',
  ],
  [{ ...backend, workers: [chat, chat] }, 'two workers are called chat'],
  [{ ...backend, workers: [{ name: 'x' }] }, '/workers/0'],
  [{ ...backend, workers: [{ ...chat, flags: { surprise: 1 } }] }, 'surprise'],
  [{ ...backend, workers: [{ ...chat, replicas: 2, autoscaling }] }, 'keep one'],
  [
    { ...backend, workers: [{ ...chat, nodes: 2, acceptUnattestedNodes: true, autoscaling }] },
    'workers of one pod',
  ],
  [{ ...backend, workers: [{ ...chat, gpus: 0, attestGpus: true }] }, 'no GPU to attest'],
  [{ ...backend, workers: [{ ...chat, softwareIdentitySecret: 's', mountTsm: true }] }, 'not both'],
  [
    { ...backend, workers: [{ ...chat, mountTsm: true, flags: { tsmPath: '/x' } }] },
    'mountTsm, which mounts the reports at /run/tsm',
  ],
  [
    { ...backend, monitoring: { serviceMonitors: true }, gateway: { metrics: { enabled: false } } },
    'nothing to read',
  ],
  [withValue(backend, 'monitoring.from', [{ podSelector: {} }]), 'monitoring.from has no effect'],
  [withValue(backend, 'gateway.portal.softwareRoot', 'x'), 'softwareRoot'],
  [
    { ...backend, workerMetrics: { enabled: false }, workers: [{ ...chat, autoscaling }] },
    'autoscaling needs workerMetrics.enabled',
  ],
  [
    withValue(backend, 'gateway.autoscaling.minReplicas', 11),
    'minReplicas is 11, more than gateway.autoscaling.maxReplicas, 10',
  ],
  [
    { ...backend, workers: [{ ...chat, autoscaling: { ...autoscaling, minReplicas: 5 } }] },
    'autoscaling.minReplicas 5, more than its maxReplicas, 4',
  ],
  [withValue(backend, 'workerMetrics.port', 8095), 'workerMetrics.port is 8095, which is taken'],
  [withValue(backend, 'workerMetrics.port', 8000), 'workerMetrics.port is 8000, which is taken'],
  [withValue(backend, 'gateway.limits.maxRequests', 0), '/gateway/limits/maxRequests'],
  [withValue(backend, 'gateway.limits.keySharePercent', 500), '/gateway/limits/keySharePercent'],
  [
    { ...backend, workers: [{ ...chat, flags: { intelPcsUrl: 'pccs:8081' } }] },
    '/workers/0/flags/intelPcsUrl',
  ],
  ...['@weekly', 'daily', '0 3 * *', '0 3 * * Monday', 'MON 3 * * *'].map(
    (schedule): [Values, string] => [
      withValue(backend, 'manifestRefresh.schedule', schedule),
      '/manifestRefresh/schedule',
    ],
  ),
]

unlessMissing(withoutHelm).describe('the chart of the backend refuses', () => {
  for (const [index, [values, said]] of refusals.entries()) {
    test(`${index}: ${said}`, () => expect(messageOf(values)).toContain(said))
  }
})

unlessMissing(withoutHelm).test('a cluster without native sidecars is refused', () => {
  const old = render(chart, backend, { kubeVersion: '1.28.0' })
  expect(old).toMatchObject({ kind: 'refused' })
  expect(old.kind === 'refused' && old.message).toContain('Kubernetes 1.29 or later')
})

unlessMissing(withoutHelm).test('a helm that knows of no cluster renders for a new one', () => {
  const objects = renderObjects(chart, backend, { kubeVersion: '1.20.0' })
  const gateway = find(objects, 'Deployment', 'privatemode-gateway-demo')
  expect(gateway.spec.template.spec.containers[0].lifecycle).toBeDefined()
})

unlessMissing(withoutHelm).test(
  'the notes say how proxies reach the gateway, and that chart accepts it',
  () => {
    const told = renderNotes(chart, backend)
    const values = Bun.YAML.parse(/^ {2}config:\n( {4}.*\n)+/m.exec(told)?.[0] ?? '') as Values
    expect(values.config).toMatchObject({
      apiEndpoint: 'privatemode-gateway-demo.apps.svc.cluster.local:8090',
      customCA: { enabled: true, secretName: 'privatemode-gateway-tls' },
    })
    const config = { ...(minimal.config as Values), ...(values.config as Values) }
    expect(render(chartFolder('chart'), { ...minimal, config }).kind).toBe('objects')
    const plain = renderNotes(chart, withValue(backend, 'gateway.tls.enabled', false))
    expect(plain).toContain('Proxies refuse plain http')
  },
)

unlessMissing(withoutHelm).test(
  'the log may be signed on every schedule that a CronJob has',
  () => {
    for (const schedule of [
      '@daily',
      '@hourly',
      '@every 6h',
      '0 3 * * MON',
      '0 0 1 JAN-JUN,OCT ?',
    ]) {
      const set = withValue(backend, 'manifestRefresh.schedule', schedule)
      expect({ schedule, said: messageOf(set) }).toEqual({ schedule, said: 'rendered' })
    }
  },
)

unlessMissing(withoutHelm).test(
  'where the service has another port than its pods, the notes say what the proxy’s policy needs',
  () => {
    expect(renderNotes(chart, backend)).not.toContain('extraEgress')
    const told = renderNotes(chart, withValue(backend, 'gateway.service.port', 443))
    const values = Bun.YAML.parse(/^ {2}config:\n( {2}.*\n)+/m.exec(told)?.[0] ?? '') as Values
    const rules = renderObjects(chartFolder('chart'), merge(minimal, values))
    const { egress } = find(rules, 'NetworkPolicy').spec
    expect(egress.flatMap((rule: KubernetesObject) => rule.ports).map(portOf)).toContain(8090)
  },
)

const portOf = ({ port }: KubernetesObject) => port

unlessMissing(withoutHelm).test('the notes say what the portal still lacks', () => {
  const told = renderNotes(chart, backend)
  expect(told).toContain('Nobody can sign in until gateway.publicUrl')
  expect(told).toContain('verifies nothing until gateway.portal.manifestLogKey')
  const set = withValue(backend, 'gateway.publicUrl', 'https://ai.internal')
  const whole = withValue(set, 'gateway.portal.manifestLogKey', 'log+1+AA')
  expect(renderNotes(chart, whole)).not.toMatch(/sign in|verifies nothing/)
})
