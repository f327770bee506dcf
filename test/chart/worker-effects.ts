/** What each value of a worker does to its pod: keyed by the name of the value in an entry of `workers`. */
import { chat } from './backend-values.ts'
import { same } from './effects.ts'
import { find, type KubernetesObject, type Values } from './render.ts'

type Objects = readonly KubernetesObject[]

export type WorkerEffect = {
  /** Laid over the worker before and after. */
  readonly and?: Values
  readonly value: unknown
  readonly holds: (objects: Objects) => boolean
}

const deployment = (all: Objects) => find(all, 'Deployment', 'privatemode-worker-chat-demo')
const pod = (all: Objects) => deployment(all).spec.template.spec
const vllm = (all: Objects) => pod(all).initContainers[0]
const worker = (all: Objects) => pod(all).containers[0]
const group = (all: Objects) => find(all, 'LeaderWorkerSet').spec.leaderWorkerTemplate
const volume = (all: Objects, name: string) =>
  pod(all).volumes.find((one: KubernetesObject) => one.name === name)
const vllmHas = (flag: string) => (all: Objects) => vllm(all).args.includes(flag)
const workerHas = (flag: string) => (all: Objects) => worker(all).args.includes(flag)
const several = { nodes: 2, acceptUnattestedNodes: true }
const toleration = { key: 'gpu', operator: 'Exists' }

export const workerEffects: { readonly [name: string]: WorkerEffect } = {
  name: {
    value: 'other',
    holds: (all) => all.some(({ metadata }) => metadata.name === 'privatemode-worker-other-demo'),
  },
  replicas: { value: 0, holds: (all) => deployment(all).spec.replicas === 0 },
  model: { value: '/models/other', holds: vllmHas('/models/other') },
  servedName: { value: 'org/other', holds: vllmHas('--served-model-name=org/other') },
  modelVolumeClaimName: {
    value: 'weights',
    holds: (all) =>
      volume(all, 'models').persistentVolumeClaim.claimName === 'weights' &&
      vllm(all).volumeMounts.some(({ mountPath }: KubernetesObject) => mountPath === '/models'),
  },
  gpus: {
    value: 4,
    holds: (all) =>
      vllmHas('--tensor-parallel-size=4')(all) &&
      Number(vllm(all).resources.limits['nvidia.com/gpu']) === 4,
  },
  gpuResource: {
    value: 'amd.com/gpu',
    holds: (all) => {
      const { 'amd.com/gpu': own, ...others } = vllm(all).resources.limits
      return Number(own) === 1 && same(others, {})
    },
  },
  nodes: {
    and: { acceptUnattestedNodes: true },
    value: 3,
    holds: (all) => all.some(({ kind }) => kind === 'LeaderWorkerSet') && group(all).size === 3,
  },
  acceptUnattestedNodes: { and: { nodes: 2 }, value: true, holds: (all) => group(all).size === 2 },
  vllmImage: { value: 'r/vllm:1', holds: (all) => vllm(all).image === 'r/vllm:1' },
  vllmArgs: { value: ['--max-num-seqs=8'], holds: vllmHas('--max-num-seqs=8') },
  multiNodeScript: {
    and: several,
    value: '/opt/join.sh',
    holds: (all) =>
      group(all).leaderTemplate.spec.initContainers[0].command[2].includes('bash /opt/join.sh') &&
      group(all).workerTemplate.spec.containers[0].command[2].includes('bash /opt/join.sh'),
  },
  runtimeClassName: {
    value: 'kata-qemu-tdx',
    holds: (all) => pod(all).runtimeClassName === 'kata-qemu-tdx',
  },
  attestGpus: { value: true, holds: workerHas('--gpus=1') },
  mountTsm: {
    value: true,
    holds: (all) =>
      volume(all, 'tsm')?.hostPath.path === '/sys/kernel/config/tsm' &&
      workerHas('--tsmPath=/run/tsm/report')(all),
  },
  softwareIdentitySecret: {
    value: 'identity',
    holds: (all) =>
      workerHas('--softwareIdentity=/etc/privatemode/identity/identity.json')(all) &&
      volume(all, 'identity').secret.secretName === 'identity',
  },
  flags: {
    value: { drainMs: 90_000, acceptSharedCache: true, attestation: 'snp', engineRequests: 512 },
    holds: (all) =>
      ['--drainMs=90000', '--acceptSharedCache=true', '--attestation=snp', '--engineRequests=512']
        .map(workerHas)
        .every((isSet) => isSet(all)) && pod(all).terminationGracePeriodSeconds === 110,
  },
  extraEnv: {
    value: [{ name: 'no_proxy', value: '.svc.cluster.local' }],
    holds: (all) => worker(all).env[1]?.name === 'no_proxy',
  },
  securityContext: {
    value: { runAsUser: 0 },
    holds: (all) => same(worker(all).securityContext, { runAsUser: 0 }),
  },
  vllmSecurityContext: {
    value: { runAsUser: 0 },
    holds: (all) => same(vllm(all).securityContext, { runAsUser: 0 }),
  },
  podSecurityContext: {
    value: { fsGroup: 5 },
    holds: (all) => same(pod(all).securityContext, { fsGroup: 5 }),
  },
  workerResources: {
    value: { limits: { cpu: '3' } },
    holds: (all) => worker(all).resources.limits.cpu === '3',
  },
  vllmResources: {
    value: { limits: { memory: '9Gi' } },
    holds: (all) => vllm(all).resources.limits.memory === '9Gi',
  },
  sharedMemory: {
    value: '32Gi',
    holds: (all) => volume(all, 'shm').emptyDir.sizeLimit === '32Gi',
  },
  autoscaling: {
    value: { prometheusUrl: 'http://prometheus:9090', minReplicas: 2, maxReplicas: 6 },
    holds: (all) => {
      const { spec } = find(all, 'ScaledObject', 'privatemode-worker-chat-demo')
      return (
        deployment(all).spec.replicas === undefined &&
        deployment(all).spec.strategy.type === 'RollingUpdate' &&
        spec.scaleTargetRef.name === 'privatemode-worker-chat-demo' &&
        same([spec.minReplicaCount, spec.maxReplicaCount], [2, 6]) &&
        spec.triggers[0].metadata.serverAddress === 'http://prometheus:9090' &&
        // What Prometheus reads for it.
        find(all, 'NetworkPolicy', 'privatemode-worker-chat-demo').spec.ingress[1].ports[0].port ===
          9095
      )
    },
  },
  nodeSelector: {
    value: { gpu: 'h200' },
    holds: (all) => same(pod(all).nodeSelector, { gpu: 'h200' }),
  },
  tolerations: {
    value: [toleration],
    holds: (all) => same(pod(all).tolerations, [toleration]),
  },
  affinity: {
    value: { nodeAffinity: {} },
    holds: (all) => same(pod(all).affinity, { nodeAffinity: {} }),
  },
}

/** A worker without one of its values, where that value is not asked for. */
export const workerWith = (over: Values): Values => ({ ...chat, ...over })
