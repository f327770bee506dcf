/** What each value of the gateway does to the rendered objects. */
import {
  gateway,
  gatewayHas,
  gatewayMounts,
  gatewayName,
  monitor,
  policy,
  portal,
  scaler,
  secretOf,
  service,
  worker,
  workerName,
} from './backend-objects.ts'
import { type Effect, has, same } from './effects.ts'
import { find, type Values } from './render.ts'

const monitored: Values = { monitoring: { serviceMonitors: true } }
const oidc = { issuer: 'https://login.internal', clientId: 'portal', secretName: 'oidc' }
const without = (name: keyof typeof oidc): Values => {
  const { [name]: _, ...rest } = oidc
  return { gateway: { publicUrl: 'https://ai.internal', oidc: rest } }
}
const toleration = { key: 'llm', operator: 'Exists' }
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }

export const gatewayEffects: { readonly [path: string]: Effect } = {
  'gateway.replicaCount': {
    and: { gateway: { autoscaling: { enabled: false } } },
    value: 5,
    holds: (all) => find(all, 'Deployment', gatewayName).spec.replicas === 5,
  },
  'gateway.port': {
    value: 9090,
    holds: (all) =>
      gatewayHas('--port=9090')(all) &&
      gateway(all).containers[0].ports[0].containerPort === 9090 &&
      policy(all, workerName).egress[1].ports[0].port === 9090,
  },
  'gateway.publicUrl': {
    value: 'https://llm.internal',
    holds: gatewayHas('--publicUrl=https://llm.internal'),
  },
  'gateway.tls.enabled': {
    value: false,
    holds: (all) =>
      !gateway(all).containers[0].args.some((arg: string) => arg.startsWith('--tls')) &&
      service(all).spec.ports[0].name === 'http' &&
      worker(all).containers[0].args.includes('--allowPlainGateway') &&
      gateway(all).containers[0].readinessProbe.httpGet.scheme === 'HTTP',
  },
  'gateway.tls.secretName': {
    value: 'tls',
    holds: (all) =>
      secretOf(gateway(all), 'tls') === 'tls' &&
      gatewayMounts('/etc/privatemode/tls')(all) &&
      gatewayHas('--tlsCertPath=/etc/privatemode/tls/tls.crt')(all) &&
      gatewayHas('--tlsKeyPath=/etc/privatemode/tls/tls.key')(all),
  },
  'gateway.tls.caSecretName': {
    value: 'ca',
    holds: (all) =>
      secretOf(gateway(all), 'gateway-ca') === 'ca' &&
      gatewayMounts('/etc/privatemode/gateway-ca')(all) &&
      secretOf(worker(all), 'gateway-ca') === 'ca' &&
      worker(all).containers[0].args.includes('--gatewayCaPath=/etc/privatemode/gateway-ca/ca.crt'),
  },
  'gateway.oidc.issuer': {
    and: without('issuer'),
    value: oidc.issuer,
    holds: (all) =>
      gatewayHas('--oidcIssuer=https://login.internal')(all) &&
      policy(all, gatewayName).egress.at(-1).ports[0].port === 443,
  },
  'gateway.oidc.clientId': {
    and: without('clientId'),
    value: 'portal',
    holds: gatewayHas('--oidcClientId=portal'),
  },
  'gateway.oidc.secretName': {
    and: without('secretName'),
    value: 'oidc',
    holds: (all) =>
      secretOf(gateway(all), 'oidc') === 'oidc' &&
      gatewayHas('--oidcClientSecret=@/etc/privatemode/oidc/clientSecret')(all),
  },
  'gateway.manifestLog.volumeClaimName': {
    value: 'log',
    holds: (all) =>
      gatewayHas('--logDir=/etc/privatemode/manifest-log')(all) &&
      gatewayMounts('/etc/privatemode/manifest-log')(all),
  },
  'gateway.portal.enabled': {
    value: false,
    holds: (all) => !gatewayHas('--portalDir=/usr/share/privatemode/portal')(all),
  },
  'gateway.portal.manifestLogKey': {
    value: 'log+1+AA',
    holds: (all) =>
      portal(all).manifest_log_key === 'log+1+AA' &&
      gatewayMounts('/usr/share/privatemode/portal/portal.json')(all),
  },
  'gateway.portal.proxylessUrl': {
    value: 'https://api.internal',
    holds: (all) => portal(all).proxyless_url === 'https://api.internal',
  },
  'gateway.portal.softwareRoot': {
    value: 'ab'.repeat(32),
    holds: (all) => portal(all).software_root === 'ab'.repeat(32),
  },
  'gateway.metrics.enabled': { value: false, holds: (all) => !gatewayHas('--metrics')(all) },
  'gateway.metrics.tokenSecretName': {
    and: monitored,
    value: 'm',
    holds: (all) =>
      gatewayHas('--metricsToken=@/etc/privatemode/metrics/metricsToken')(all) &&
      secretOf(gateway(all), 'metrics') === 'm' &&
      monitor(all).spec.endpoints[0].authorization.credentials.name === 'm',
  },
  'gateway.logFormat': { value: 'text', holds: gatewayHas('--logFormat=text') },
  'gateway.logLevel': { value: 'debug', holds: gatewayHas('--logLevel=debug') },
  'gateway.limits': {
    value: { maxRequests: 7, drainMs: 90_000 },
    holds: (all) =>
      gatewayHas('--maxRequests=7')(all) &&
      gatewayHas('--drainMs=90000')(all) &&
      gateway(all).terminationGracePeriodSeconds === 105,
  },
  'gateway.extraEnv': {
    value: [{ name: 'https_proxy', value: 'http://proxy.internal:3128' }],
    holds: (all) =>
      gateway(all).containers[0].env[0].name === 'https_proxy' &&
      policy(all, gatewayName).egress.at(-1).ports[0].port === 3128,
  },
  'gateway.service.type': {
    value: 'LoadBalancer',
    holds: (all) => service(all).spec.type === 'LoadBalancer',
  },
  'gateway.service.port': {
    value: 80,
    holds: (all) =>
      service(all).spec.ports[0].port === 80 &&
      worker(all).containers[0].args.includes(
        '--gatewayUrl=https://privatemode-gateway-demo.apps.svc.cluster.local:80',
      ),
  },
  'gateway.service.annotations': {
    value: { a: 'b' },
    holds: (all) => service(all).metadata.annotations?.a === 'b',
  },
  'gateway.autoscaling.enabled': {
    value: false,
    holds: (all) =>
      !has(all, 'HorizontalPodAutoscaler') &&
      find(all, 'Deployment', gatewayName).spec.replicas === 2,
  },
  'gateway.autoscaling.minReplicas': { value: 4, holds: (all) => scaler(all).minReplicas === 4 },
  'gateway.autoscaling.maxReplicas': { value: 40, holds: (all) => scaler(all).maxReplicas === 40 },
  'gateway.autoscaling.targetCPUUtilizationPercentage': {
    value: 75,
    holds: (all) => scaler(all).metrics[0].resource.target.averageUtilization === 75,
  },
  'gateway.podDisruptionBudget.maxUnavailable': {
    value: '25%',
    holds: (all) => find(all, 'PodDisruptionBudget').spec.maxUnavailable === '25%',
  },
  'gateway.preStopSleepSeconds': {
    value: 20,
    holds: (all) =>
      gateway(all).containers[0].lifecycle.preStop.sleep.seconds === 20 &&
      gateway(all).terminationGracePeriodSeconds === 60,
  },
  'gateway.resources': {
    value: { limits: { cpu: '2' } },
    holds: (all) => gateway(all).containers[0].resources.limits.cpu === '2',
  },
  'gateway.nodeSelector': {
    value: { zone: 'a' },
    holds: (all) => same(gateway(all).nodeSelector, { zone: 'a' }),
  },
  'gateway.tolerations': {
    value: [toleration],
    holds: (all) => same(gateway(all).tolerations, [toleration]),
  },
  'gateway.affinity': {
    value: { nodeAffinity: {} },
    holds: (all) => same(gateway(all).affinity, { nodeAffinity: {} }),
  },
  'gateway.topologySpreadConstraints': {
    value: [spread],
    holds: (all) => same(gateway(all).topologySpreadConstraints, [spread]),
  },
}
