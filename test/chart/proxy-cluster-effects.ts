/** What the values about the cluster (service, probes, scheduling, policies) do to the rendered objects. */
import { container, type Effect, has, pod, same } from './effects.ts'
import { find, type KubernetesObject } from './render.ts'

const peer = { podSelector: { matchLabels: { app: 'chat' } } }
const rule = { ports: [{ protocol: 'TCP', port: 4318 }] }
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }
const toleration = { key: 'llm', operator: 'Exists' }
const affinity = { nodeAffinity: {} }
const policy = (objects: readonly KubernetesObject[]) => find(objects, 'NetworkPolicy').spec
const scaler = (objects: readonly KubernetesObject[]) =>
  find(objects, 'HorizontalPodAutoscaler').spec
const monitor = (objects: readonly KubernetesObject[]) => find(objects, 'ServiceMonitor')
const scaled = { autoscaling: { enabled: true } }
const measured = { config: { metrics: true } }
const monitored = { config: { metrics: true }, serviceMonitor: { enabled: true } }

export const clusterEffects: { readonly [path: string]: Effect } = {
  'service.type': {
    value: 'LoadBalancer',
    holds: (all) => find(all, 'Service').spec.type === 'LoadBalancer',
  },
  'service.port': { value: 80, holds: (all) => find(all, 'Service').spec.ports[0].port === 80 },
  'service.annotations': {
    value: { a: 'b' },
    holds: (all) => find(all, 'Service').metadata.annotations?.a === 'b',
  },
  preStopSleepSeconds: {
    value: 20,
    holds: (all) =>
      container(all).lifecycle.preStop.sleep.seconds === 20 &&
      pod(all).spec.terminationGracePeriodSeconds === 60,
  },
  resources: {
    value: { limits: { cpu: '2' } },
    holds: (all) => container(all).resources.limits.cpu === '2',
  },
  ...probe('liveness'),
  ...probe('readiness'),
  podSecurityContext: {
    value: { runAsUser: 1000 },
    holds: (all) => pod(all).spec.securityContext.runAsUser === 1000,
  },
  securityContext: {
    value: { capabilities: { drop: ['NET_RAW'] } },
    holds: (all) => same(container(all).securityContext.capabilities.drop, ['NET_RAW']),
  },
  'serviceAccount.create': { value: false, holds: (all) => !has(all, 'ServiceAccount') },
  'serviceAccount.name': {
    value: 'robot',
    holds: (all) =>
      pod(all).spec.serviceAccountName === 'robot' &&
      find(all, 'ServiceAccount').metadata.name === 'robot',
  },
  'serviceAccount.annotations': {
    value: { a: 'b' },
    holds: (all) => find(all, 'ServiceAccount').metadata.annotations?.a === 'b',
  },
  'podDisruptionBudget.enabled': { value: false, holds: (all) => !has(all, 'PodDisruptionBudget') },
  'podDisruptionBudget.maxUnavailable': {
    value: '25%',
    holds: (all) => find(all, 'PodDisruptionBudget').spec.maxUnavailable === '25%',
  },
  'autoscaling.enabled': {
    value: true,
    holds: (all) =>
      has(all, 'HorizontalPodAutoscaler') && find(all, 'Deployment').spec.replicas === undefined,
  },
  'autoscaling.minReplicas': {
    and: scaled,
    value: 4,
    holds: (all) => scaler(all).minReplicas === 4,
  },
  'autoscaling.maxReplicas': {
    and: scaled,
    value: 40,
    holds: (all) => scaler(all).maxReplicas === 40,
  },
  'autoscaling.targetCPUUtilizationPercentage': {
    and: scaled,
    value: 50,
    holds: (all) => scaler(all).metrics[0].resource.target.averageUtilization === 50,
  },
  'autoscaling.targetMemoryUtilizationPercentage': {
    and: scaled,
    value: 60,
    holds: (all) => scaler(all).metrics[1]?.resource.target.averageUtilization === 60,
  },
  'networkPolicy.enabled': { value: false, holds: (all) => !has(all, 'NetworkPolicy') },
  'networkPolicy.allowedClients': {
    value: [peer],
    holds: (all) => same(policy(all).ingress[0].from, [peer]),
  },
  'networkPolicy.egressCIDRs': {
    value: ['192.0.2.0/24'],
    holds: (all) => same(policy(all).egress[1].to, [{ ipBlock: { cidr: '192.0.2.0/24' } }]),
  },
  'networkPolicy.dnsPorts': {
    value: [5353],
    holds: (all) =>
      same(policy(all).egress[0].ports, [
        { protocol: 'UDP', port: 5353 },
        { protocol: 'TCP', port: 5353 },
      ]),
  },
  'networkPolicy.extraEgress': { value: [rule], holds: (all) => same(policy(all).egress[2], rule) },
  'serviceMonitor.enabled': {
    and: measured,
    value: true,
    holds: (all) => has(all, 'ServiceMonitor'),
  },
  'serviceMonitor.interval': {
    and: monitored,
    value: '5s',
    holds: (all) => monitor(all).spec.endpoints[0].interval === '5s',
  },
  'serviceMonitor.labels': {
    and: monitored,
    value: { release: 'prometheus' },
    holds: (all) => monitor(all).metadata.labels.release === 'prometheus',
  },
  podAnnotations: { value: { a: 'b' }, holds: (all) => pod(all).metadata.annotations?.a === 'b' },
  podLabels: { value: { a: 'b' }, holds: (all) => pod(all).metadata.labels.a === 'b' },
  nodeSelector: { value: { a: 'b' }, holds: (all) => same(pod(all).spec.nodeSelector, { a: 'b' }) },
  tolerations: {
    value: [toleration],
    holds: (all) => same(pod(all).spec.tolerations, [toleration]),
  },
  affinity: { value: affinity, holds: (all) => same(pod(all).spec.affinity, affinity) },
  topologySpreadConstraints: {
    value: [spread],
    holds: (all) => same(pod(all).spec.topologySpreadConstraints, [spread]),
  },
  priorityClassName: { value: 'high', holds: (all) => pod(all).spec.priorityClassName === 'high' },
}

function probe(name: 'liveness' | 'readiness'): { readonly [path: string]: Effect } {
  const shown = (objects: readonly KubernetesObject[]) => container(objects)[`${name}Probe`]
  const counts = ['initialDelaySeconds', 'periodSeconds', 'timeoutSeconds', 'failureThreshold']
  return {
    [`probes.${name}.path`]: { value: '/x', holds: (all) => shown(all).httpGet.path === '/x' },
    ...Object.fromEntries(
      counts.map((count): [string, Effect] => [
        `probes.${name}.${count}`,
        { value: 17, holds: (all) => shown(all)[count] === 17 },
      ]),
    ),
  }
}
