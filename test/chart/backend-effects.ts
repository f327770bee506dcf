/** What the values of the backend’s chart do that are neither of the gateway nor of one worker. */
import {
  gateway,
  gatewayHas,
  gatewayName,
  host,
  images,
  migrations,
  monitor,
  policy,
  refresh,
  secretOf,
  worker,
  workerName,
} from './backend-objects.ts'
import { backend, complete } from './backend-values.ts'
import { type Effect, has, merge, same } from './effects.ts'
import { find, type KubernetesObject, type Values } from './render.ts'

const monitored: Values = { monitoring: { serviceMonitors: true } }
const hosting: Values = {
  manifestHost: { enabled: true, image: 'registry.internal/web', volumeClaimName: 'log' },
}
const refreshing: Values = {
  images: { ...(backend.images as Values), verify: 'r/verify' },
  manifestRefresh: { secretName: 'log-key', volumeClaimName: 'log' },
}
const toMachines = {
  ports: [{ protocol: 'TCP', port: 8095 }],
  to: [{ ipBlock: { cidr: '10.1.0.0/16' } }],
}
const peer = { podSelector: { matchLabels: { app: 'prometheus' } } }

export const backendEffects: { readonly [path: string]: Effect } = {
  'components.proxyless': {
    and: { proxyless: complete.proxyless },
    value: true,
    holds: (all) => all.some(({ metadata }) => metadata.name === 'privatemode-proxy-demo'),
  },
  'images.gateway': {
    value: 'r/gateway',
    holds: (all) =>
      same(
        [0, 2].map((at) => images(all)[at]),
        ['r/gateway:0.1.0', 'r/gateway:0.1.0'],
      ),
  },
  'images.worker': { value: 'r/worker', holds: (all) => images(all)[1] === 'r/worker:0.1.0' },
  'images.tag': {
    value: '9.9.9',
    holds: (all) => images(all).every((image) => image.endsWith(':9.9.9')),
  },
  'images.pullPolicy': {
    value: 'Always',
    holds: (all) =>
      [gateway(all), worker(all), migrations(all)].every(
        (pod) => pod.containers[0].imagePullPolicy === 'Always',
      ),
  },
  'images.pullSecrets': {
    value: [{ name: 'pull' }],
    holds: (all) =>
      [gateway(all), worker(all), migrations(all)].every((pod) =>
        same(pod.imagePullSecrets, [{ name: 'pull' }]),
      ),
  },
  'database.secretName': {
    value: 'db',
    holds: (all) =>
      secretOf(gateway(all), 'database') === 'db' && secretOf(migrations(all), 'database') === 'db',
  },
  'database.port': {
    value: 6432,
    holds: (all) => policy(all, gatewayName).egress[1].ports[0].port === 6432,
  },
  'database.connections': { value: 20, holds: gatewayHas('--databaseConnections=20') },
  'operator.secretName': {
    value: 'op',
    holds: (all) =>
      ['operator', 'register'].every((name) => secretOf(gateway(all), name) === 'op') &&
      secretOf(worker(all), 'register') === 'op',
  },
  'migrations.enabled': { value: false, holds: (all) => !has(all, 'Job') },
  'migrations.backoffLimit': {
    value: 9,
    holds: (all) => find(all, 'Job').spec.backoffLimit === 9,
  },
  'migrations.resources': {
    value: { limits: { memory: '2Gi' } },
    holds: (all) => migrations(all).containers[0].resources.limits.memory === '2Gi',
  },
  workers: {
    over: { ...backend, workers: [] },
    value: backend.workers,
    holds: (all) => worker(all) !== undefined,
  },
  'workerMetrics.enabled': {
    value: false,
    holds: (all) =>
      !worker(all).containers[0].args.some((arg: string) => arg.startsWith('--metricsPort')) &&
      worker(all).containers[0].ports.length === 1,
  },
  'workerMetrics.port': {
    and: monitored,
    value: 9999,
    holds: (all) =>
      worker(all).containers[0].args.includes('--metricsPort=9999') &&
      policy(all, workerName).ingress[1].ports[0].port === 9999,
  },
  'manifestHost.enabled': {
    and: { manifestHost: { image: 'r/web', volumeClaimName: 'log' } },
    value: true,
    holds: (all) => all.some(({ metadata }) => metadata.name === 'privatemode-manifests-demo'),
  },
  'manifestHost.replicaCount': { and: hosting, value: 3, holds: (all) => host(all).replicas === 3 },
  'manifestHost.image': {
    and: hosting,
    value: 'r/other',
    holds: (all) => host(all).template.spec.containers[0].image === 'r/other',
  },
  'manifestHost.port': {
    and: hosting,
    value: 8081,
    holds: (all) =>
      host(all).template.spec.containers[0].ports[0].containerPort === 8081 &&
      find(all, 'Service', 'privatemode-manifests-demo').spec.ports[0].port === 8081,
  },
  'manifestHost.mountPath': {
    and: hosting,
    value: '/srv',
    holds: (all) => host(all).template.spec.containers[0].volumeMounts[0].mountPath === '/srv',
  },
  'manifestHost.volumeClaimName': {
    and: hosting,
    value: 'other',
    holds: (all) => host(all).template.spec.volumes[0].persistentVolumeClaim.claimName === 'other',
  },
  'manifestHost.resources': {
    and: hosting,
    value: { limits: { memory: '2Gi' } },
    holds: (all) => host(all).template.spec.containers[0].resources.limits.memory === '2Gi',
  },
  'images.verify': {
    and: refreshing,
    value: 'r/other',
    holds: (all) => refresh(all).containers[0].image === 'r/other:0.1.0',
  },
  'manifestRefresh.secretName': {
    and: { ...refreshing, manifestRefresh: { volumeClaimName: 'log' } },
    value: 'key',
    holds: (all) => secretOf(refresh(all), 'log-key') === 'key',
  },
  'manifestRefresh.witnessSecretName': {
    and: refreshing,
    value: 'witness',
    holds: (all) =>
      secretOf(refresh(all), 'witness-key') === 'witness' &&
      refresh(all).containers[0].args.includes(
        '--witness-key=/etc/privatemode/witness-key/witnessKey',
      ),
  },
  'manifestRefresh.volumeClaimName': {
    and: refreshing,
    value: 'other',
    holds: (all) => refresh(all).volumes[0].persistentVolumeClaim.claimName === 'other',
  },
  'manifestRefresh.manifestConfigMapName': {
    and: refreshing,
    value: 'next-manifest',
    holds: (all) => {
      const { spec } = find(all, 'Job', 'privatemode-manifest-publish-demo').spec.template
      const [manifest] = spec.volumes.filter(({ name }: KubernetesObject) => name === 'manifest')
      return (
        manifest.configMap.name === 'next-manifest' &&
        spec.containers[0].args.includes('/etc/privatemode/manifest/manifest.json')
      )
    },
  },
  'manifestRefresh.schedule': {
    and: refreshing,
    value: '0 3 * * *',
    holds: (all) => find(all, 'CronJob').spec.schedule === '0 3 * * *',
  },
  'manifestRefresh.resources': {
    and: merge(refreshing, { manifestRefresh: { manifestConfigMapName: 'm' } }),
    value: { limits: { memory: '2Gi' } },
    holds: (all) =>
      [
        refresh(all),
        find(all, 'Job', 'privatemode-manifest-publish-demo').spec.template.spec,
      ].every(({ containers }) => containers[0].resources.limits.memory === '2Gi'),
  },
  'networkPolicy.enabled': { value: false, holds: (all) => !has(all, 'NetworkPolicy') },
  'networkPolicy.dnsPorts': {
    value: [5353],
    holds: (all) =>
      [gatewayName, workerName].every((name) => policy(all, name).egress[0].ports[0].port === 5353),
  },
  'networkPolicy.egressCIDRs': {
    value: ['10.0.0.0/8'],
    holds: (all) =>
      same(policy(all, workerName).egress[2].to, [{ ipBlock: { cidr: '10.0.0.0/8' } }]),
  },
  'networkPolicy.extraEgress.gateway': {
    value: [toMachines],
    holds: (all) =>
      same(policy(all, gatewayName).egress.at(-1), toMachines) &&
      !same(policy(all, workerName).egress.at(-1), toMachines),
  },
  'networkPolicy.extraEgress.workers': {
    value: [toMachines],
    holds: (all) =>
      same(policy(all, workerName).egress.at(-1), toMachines) &&
      !same(policy(all, gatewayName).egress.at(-1), toMachines),
  },
  'monitoring.serviceMonitors': {
    value: true,
    holds: (all) => has(all, 'ServiceMonitor') && has(all, 'PodMonitor'),
  },
  'monitoring.interval': {
    and: monitored,
    value: '5s',
    holds: (all) =>
      monitor(all).spec.endpoints[0].interval === '5s' &&
      find(all, 'PodMonitor').spec.podMetricsEndpoints[0].interval === '5s',
  },
  'monitoring.from': {
    and: monitored,
    value: [peer],
    holds: (all) => same(policy(all, workerName).ingress[1].from, [peer]),
  },
  'monitoring.rules': { value: true, holds: (all) => has(all, 'PrometheusRule') },
  'monitoring.dashboard': {
    value: true,
    holds: (all) => all.some(({ metadata }) => metadata.labels?.grafana_dashboard === '1'),
  },
  'monitoring.labels': {
    and: { monitoring: { serviceMonitors: true, rules: true } },
    value: { release: 'prometheus' },
    holds: (all) =>
      ['ServiceMonitor', 'PodMonitor', 'PrometheusRule'].every(
        (kind) => find(all, kind).metadata.labels.release === 'prometheus',
      ),
  },
}
