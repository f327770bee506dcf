/** Values of the charts as operators combine them. */
import { autoscaled, backend, complete, confidential, manyNodes } from './backend-values.ts'
import { byHand, hosted, minimal } from './proxy-config-effects.ts'
import type { RenderOptions, Values } from './render.ts'

export type Scenario = {
  readonly name: string
  readonly chart: 'chart' | 'backend'
  readonly values: Values
  readonly options?: RenderOptions
  /** First minor version of Kubernetes that has all of it. */
  readonly since?: number
}

/** Every value of the interface's table at once. */
const specified: Values = {
  ...minimal,
  config: {
    apiEndpoint: 'api.internal:443',
    sharedPromptCache: { enabled: true },
    promptCacheSalt: { enabled: true, secretName: 'privatemode-salt' },
    workspace: { enabled: true, volumeClaimName: 'privatemode-workspace' },
    tls: { enabled: true, secretName: 'privatemode-tls' },
    customCA: { enabled: true, secretName: 'corporate-ca', fileName: 'bundle.pem' },
    extraEnv: [{ name: 'https_proxy', value: 'http://outbound.internal:3128' }],
    manifest: {
      enabled: true,
      configMapName: 'privatemode-manifest',
      fileName: 'manifest-7.json',
      mountPath: '/manifests',
    },
  },
}

const busy: Values = {
  ...minimal,
  config: { ...(minimal.config as Values), metrics: true },
  autoscaling: { enabled: true, targetMemoryUtilizationPercentage: 80 },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'llm', effect: 'NoSchedule' }],
  priorityClassName: 'high',
  networkPolicy: { allowedClients: [{ podSelector: { matchLabels: { llm: 'allowed' } } }] },
}

export const scenarios: readonly Scenario[] = [
  { name: 'proxy-minimal', chart: 'chart', values: minimal },
  { name: 'proxy-specified', chart: 'chart', values: specified },
  { name: 'proxy-manifest-by-hand', chart: 'chart', values: byHand },
  { name: 'proxy-busy', chart: 'chart', values: busy },
  { name: 'proxy-hosted', chart: 'chart', values: hosted },
  {
    name: 'proxy-kubernetes-1.16',
    chart: 'chart',
    values: busy,
    options: { kubeVersion: '1.16.0' },
  },
  { name: 'backend-minimal', chart: 'backend', values: backend, since: 29 },
  { name: 'backend-confidential', chart: 'backend', values: confidential, since: 29 },
  { name: 'backend-autoscaled', chart: 'backend', values: autoscaled, since: 29 },
  { name: 'backend-many-nodes', chart: 'backend', values: manyNodes, since: 29 },
  { name: 'backend-complete', chart: 'backend', values: complete, since: 29 },
]
