/** Network policies block on the node: kube-router enforces them. */
import { must } from '../confined/rows.ts'
import type { Cluster, Json } from './cluster.ts'
import { deployments } from './rollouts.ts'
import type { Scene } from './scene.ts'

const stranger = 'pod/stranger'
/** The proxy's image has no program with which to connect elsewhere: this pod has its labels. */
const likeProxy = 'pod/like-proxy'
const database = 'postgres.database.svc.cluster.local'

export async function tryPolicies({ cluster, rows }: Scene): Promise<void> {
  const [worker] = await cluster.pods('privatemode.role=worker')
  const [proxy] = await cluster.pods('app.kubernetes.io/name=privatemode-proxy')
  must(worker !== undefined && proxy !== undefined, 'no worker or no proxy runs')
  const workerIp = worker?.status.podIP ?? ''
  const gateway = `${deployments.gateway}.${cluster.namespace}.svc.cluster.local`
  const from = (part: keyof typeof deployments) => `deployment/${deployments[part]}`
  await startProbe(cluster, stranger, {})
  await startProbe(cluster, likeProxy, proxy?.metadata.labels ?? {})
  try {
    await rows.try('a worker takes connections from gateways alone', async () => {
      await expectReach(cluster, from('gateway'), workerIp, 8095, 'open')
      await expectReach(cluster, stranger, workerIp, 8095, 'blocked')
      await expectReach(cluster, likeProxy, workerIp, 8095, 'blocked')
      return 'open for a gateway; blocked for a proxy and for another pod of the namespace'
    })
    await rows.try('a worker reaches its gateway, and no database or proxy', async () => {
      await expectReach(cluster, from('worker'), gateway, 8090, 'open')
      await expectReach(cluster, from('worker'), database, 5432, 'blocked')
      await expectReach(cluster, from('worker'), proxy?.status.podIP ?? '', 8080, 'blocked')
      return 'port 8090 of the gateway is open, 5432 and 8080 are blocked'
    })
    await rows.try('a proxy reaches the gateway, and no database', async () => {
      await expectReach(cluster, likeProxy, gateway, 8090, 'open')
      await expectReach(cluster, likeProxy, database, 5432, 'blocked')
      await expectReach(cluster, from('gateway'), database, 5432, 'open')
      return 'the database is open for a gateway only'
    })
    await rows.try('without its policy, anybody would reach the worker', async () => {
      const name = `networkpolicy/${deployments.worker}`
      const policy = await cluster.get<Json>(name)
      await cluster.kubectl(['delete', name])
      try {
        await expectReach(cluster, stranger, workerIp, 8095, 'open')
      } finally {
        const { resourceVersion: _, uid: __, ...metadata } = policy.metadata
        await cluster.apply({ ...policy, metadata })
      }
      await expectReach(cluster, stranger, workerIp, 8095, 'blocked')
      return 'open without it, blocked again with it'
    })
  } finally {
    await cluster.kubectl(['delete', stranger, likeProxy, '--grace-period=1', '--wait=false'])
  }
}

/** A pod with a program that can connect: the worker's image has one. It is never ready, so no service leads to it. */
async function startProbe(cluster: Cluster, pod: string, labels: Json): Promise<void> {
  const [worker] = await cluster.pods('privatemode.role=worker')
  const { image, securityContext } = worker?.spec.containers[0] ?? {}
  const name = pod.slice('pod/'.length)
  const { 'pod-template-hash': _, ...own } = labels
  await cluster.apply({
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name, namespace: cluster.namespace, labels: own },
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          ...{ name, image, securityContext },
          command: ['/usr/bin/bun', '-e', 'setInterval(() => {}, 1e6)'],
          readinessProbe: { exec: { command: ['/nothing'] } },
        },
      ],
    },
  })
  const running = '--for=jsonpath={.status.phase}=Running'
  await cluster.kubectl(['wait', pod, running, '--timeout=120s'])
}

type Reach = 'open' | 'blocked'

/** Rules follow their objects within seconds. */
async function expectReach(
  cluster: Cluster,
  from: string,
  host: string,
  port: number,
  wanted: Reach,
): Promise<void> {
  let seen = ''
  await cluster
    .until(
      `${from} to ${host}:${port}`,
      async () => {
        seen = await reach(cluster, from, host, port)
        return seen === wanted
      },
      60_000,
    )
    .catch(() => {
      throw new Error(`from ${from} to ${host}:${port}: ${seen}, not ${wanted}`)
    })
}

/** Engines drop what a policy forbids, or refuse it; that somebody listens is shown by those who may connect. */
async function reach(cluster: Cluster, from: string, host: string, port: number): Promise<string> {
  const script = `setTimeout(() => { console.log('blocked'); process.exit() }, 3000)
    const socket = { open() { console.log('open'); process.exit() }, data() {} }
    await Bun.connect({ hostname: '${host}', port: ${port}, socket }).catch((error) =>
      console.log(error.code === 'ECONNREFUSED' ? 'blocked' : error.code))
    process.exit()`
  const { out, errors } = await cluster.tryKubectl([
    'exec',
    from,
    '--',
    '/usr/bin/bun',
    '-e',
    script,
  ])
  return out.trim() || errors.trim().slice(0, 300)
}
