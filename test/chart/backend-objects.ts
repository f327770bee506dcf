/** Where tests find the parts of a rendered backend. */
import { find, type KubernetesObject } from './render.ts'

type Objects = readonly KubernetesObject[]

export const gatewayName = 'privatemode-gateway-demo'
export const workerName = 'privatemode-worker-chat-demo'
export const gateway = (all: Objects) => find(all, 'Deployment', gatewayName).spec.template.spec
export const worker = (all: Objects) => find(all, 'Deployment', workerName).spec.template.spec
export const migrations = (all: Objects) => find(all, 'Job').spec.template.spec
export const refresh = (all: Objects) => find(all, 'CronJob').spec.jobTemplate.spec.template.spec
export const service = (all: Objects) => find(all, 'Service', gatewayName)
export const scaler = (all: Objects) => find(all, 'HorizontalPodAutoscaler').spec
export const host = (all: Objects) => find(all, 'Deployment', 'privatemode-manifests-demo').spec
export const policy = (all: Objects, name: string) => find(all, 'NetworkPolicy', name).spec
export const monitor = (all: Objects) => find(all, 'ServiceMonitor', gatewayName)
export const portal = (all: Objects) =>
  JSON.parse(find(all, 'ConfigMap', 'privatemode-portal-demo').data['portal.json'])

export const gatewayHas = (flag: string) => (all: Objects) =>
  gateway(all).containers[0].args.includes(flag)
export const gatewayMounts = (path: string) => (all: Objects) =>
  gateway(all).containers[0].volumeMounts.some(
    (mount: KubernetesObject) => mount.mountPath === path && mount.readOnly,
  )
export const secretOf = (pod: KubernetesObject, volume: string) =>
  pod.volumes.find(({ name }: KubernetesObject) => name === volume)?.secret.secretName
export const images = (all: Objects) =>
  [gateway(all), worker(all), migrations(all)].map((pod) => pod.containers[0].image)
