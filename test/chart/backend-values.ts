/** Values of the backend's chart for tests. */
import { logKey } from './proxy-config-effects.ts'
import type { Values } from './render.ts'

export const chat: Values = {
  name: 'chat',
  model: '/models/chat',
  servedName: 'org/chat-1',
  modelVolumeClaimName: 'models',
  vllmImage: 'registry.internal/vllm-openai:v0.27.0',
}

export const backend: Values = {
  images: { gateway: 'registry.internal/gateway', worker: 'registry.internal/worker' },
  workers: [chat],
}

/** Eight GPUs of one confidential machine. */
export const confidential: Values = {
  ...backend,
  workers: [
    {
      ...chat,
      replicas: 2,
      gpus: 8,
      runtimeClassName: 'kata-qemu-snp',
      attestGpus: true,
      vllmArgs: ['--max-model-len', '32768'],
      vllmResources: { limits: { memory: '512Gi' } },
      flags: { attestation: 'snp', maxRequests: 256, drainMs: 60000 },
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
    },
  ],
}

/** As many workers as the queue needs. */
export const autoscaled: Values = {
  ...backend,
  workers: [
    {
      ...chat,
      autoscaling: { prometheusUrl: 'http://prometheus:9090', minReplicas: 2, maxReplicas: 6 },
    },
  ],
}

export const manyNodes: Values = {
  ...backend,
  workers: [{ ...chat, name: 'large', gpus: 8, nodes: 2, acceptUnattestedNodes: true }],
}

export const complete: Values = {
  ...backend,
  images: { ...(backend.images as Values), verify: 'registry.internal/verify' },
  components: { proxyless: true },
  proxyless: {
    image: { repository: 'registry.internal/proxy' },
    config: {
      apiEndpoint: 'gateway.internal:443',
      manifestLogKey: logKey,
      apiKey: { enabled: false },
      tls: { enabled: true, secretName: 'proxyless-tls' },
      hosted: { enabled: true, saltSecretName: 'proxyless-salt' },
    },
  },
  gateway: {
    publicUrl: 'https://gateway.internal',
    tls: { enabled: true, secretName: 'gateway-tls', caSecretName: 'gateway-tls' },
    oidc: { issuer: 'https://login.internal', clientId: 'portal', secretName: 'oidc' },
    manifestLog: { volumeClaimName: 'manifest-log' },
    metrics: { enabled: true, tokenSecretName: 'metrics' },
    limits: { maxRequests: 4096, drainMs: 60000 },
  },
  manifestHost: { enabled: true, image: 'registry.internal/web', volumeClaimName: 'manifest-log' },
  manifestRefresh: {
    secretName: 'manifest-log-key',
    volumeClaimName: 'manifest-log',
    manifestConfigMapName: 'manifest',
  },
  monitoring: { serviceMonitors: true, rules: true, dashboard: true, labels: { a: 'b' } },
}
