/** The backend's chart, rendered with the real helm. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Flag } from '@privatemode/service'
import { unlessMissing } from '@privatemode/service/testing'
import { program as gatewayProgram } from '../../apps/gateway/src/flags.ts'
import { parseSettings as parseGateway } from '../../apps/gateway/src/settings.ts'
import { parsePortalConfig } from '../../apps/portal/src/config/portal-config.ts'
import { program as workerProgram } from '../../apps/worker/src/settings.ts'
import { autoscaled, backend, chat, complete, confidential, manyNodes } from './backend-values.ts'
import { logKey } from './proxy-config-effects.ts'
import {
  chartFolder,
  find,
  type KubernetesObject,
  render,
  renderObjects,
  runHelm,
  type Values,
  withoutHelm,
  withValue,
} from './render.ts'

const chart = chartFolder('backend')
const objectsOf = (values: Values) => renderObjects(chart, values)
const podOf = (objects: KubernetesObject[], kind: string, name: string) =>
  find(objects, kind, name).spec.template.spec
const flagsOf = (args: string[]) => args.map((arg) => /^--([^=]+)/.exec(arg)?.[1] ?? arg)

unlessMissing(withoutHelm).describe('the chart of the backend', () => {
  test('helm finds nothing to complain about', () => {
    const sets = ['images.gateway=r/g', 'images.worker=r/w'].flatMap((set) => ['--set', set])
    const { ok, stdout } = runHelm(['lint', '--strict', '--quiet', chart, ...sets])
    expect(stdout).not.toMatch(/WARNING|ERROR/)
    expect(ok).toBe(true)
  })

  test('gateways are stateless, scaled by load and never all unavailable at once', () => {
    const objects = objectsOf(backend)
    const name = 'privatemode-gateway-demo'
    expect(find(objects, 'Deployment', name).spec.replicas).toBeUndefined()
    expect(find(objects, 'HorizontalPodAutoscaler').spec.minReplicas).toBe(2)
    expect(find(objects, 'PodDisruptionBudget').spec.maxUnavailable).toBe(1)
    const kinds = podOf(objects, 'Deployment', name).volumes.map((v: object) => Object.keys(v)[1])
    expect(new Set(kinds)).toEqual(new Set(['secret', 'configMap']))
  })

  test('the command line of the gateway is read by the gateway itself', () => {
    const [container] = podOf(
      objectsOf(complete),
      'Deployment',
      'privatemode-gateway-demo',
    ).containers
    expect(Object.keys(gatewayProgram.flags)).toEqual(
      expect.arrayContaining(flagsOf(container.args)),
    )
    const readable = container.args
      .filter((arg: string) => !arg.startsWith('--tls'))
      // Every secret has a different value, as the gateway requires of its tokens.
      .map((arg: string, index: number) => arg.replace(/=@.*/, `=${'s'.repeat(32)}${index}`))
    const parsed = parseGateway({ args: readable, env: {} })
    expect(parsed.kind === 'settings' && parsed.settings).toMatchObject({
      host: '0.0.0.0',
      port: 8090,
      database: { kind: 'server', connections: 8 },
      logDir: '/etc/privatemode/manifest-log',
      metrics: true,
      limits: { requests: 4096, drainMs: 60000 },
    })
  })

  test('every limit of the gateway and every flag of the worker can be set', () => {
    const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')).properties
    const limits = Object.entries(gatewayProgram.flags)
      .filter(([, flag]) => flag.group === 'Limits')
      .map(([name]) => name)
    expect(Object.keys(schema.gateway.properties.limits.properties).sort()).toEqual(limits.sort())
    const managed = [
      ...['port', 'host', 'publicUrl', 'gatewayUrl', 'registerToken', 'engineUrl', 'logFormat'],
      ...['softwareIdentity', 'gpus', 'metricsPort', 'gatewayCaPath', 'allowPlainGateway'],
      'awaitRegisterToken', // the chart mounts the token as a secret
      'engineKey', // vLLM is in the same pod, and nobody else reaches it
      // Of the embedded engine, which the image of the worker does not have.
      ...['modelsFile', 'engineThreads', 'promptCacheMib', 'maxWaiting'],
    ]
    const settable = Object.keys(schema.workers.items.properties.flags.properties)
    expect([...settable, ...managed].sort()).toEqual(Object.keys(workerProgram.flags).sort())
  })

  test('a number that a program would refuse is refused by the schema, and no other', () => {
    const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')).properties
    const limits = schema.gateway.properties.limits.properties
    const flags = schema.workers.items.properties.flags.properties
    for (const [described, table] of [
      [limits, gatewayProgram.flags],
      [flags, workerProgram.flags],
    ] as const) {
      const known: Readonly<Record<string, Flag>> = table
      for (const [name, { type, minimum, maximum }] of Object.entries<KubernetesObject>(
        described,
      )) {
        if (type !== 'integer') continue
        const flag = known[name] as Extract<Flag, { type: 'integer' }>
        expect({ name, minimum, maximum }).toEqual({
          ...{ name, minimum: flag.min ?? 0, maximum: flag.max },
        })
      }
    }
    expect(flags.amdProduct.enum).toEqual(workerProgram.flags.amdProduct.choices)
  })

  test('a worker may wait for its model server before it is judged', () => {
    const probeOf = (flags: Values) =>
      podOf(
        objectsOf({ ...backend, workers: [{ ...chat, flags }] }),
        'Deployment',
        'privatemode-worker-chat-demo',
      ).containers[0].startupProbe
    const seconds = (flags: Values) =>
      probeOf(flags).failureThreshold * probeOf(flags).periodSeconds
    expect(seconds({})).toBe(300)
    expect(seconds({ engineWaitSeconds: 3600 })).toBe(3900)
  })

  test('a worker can keep collateral in the folder that it is told', () => {
    const flags = { collateralFolder: '/var/cache/collateral' }
    const pod = podOf(
      objectsOf({ ...backend, workers: [{ ...chat, flags }] }),
      'Deployment',
      'privatemode-worker-chat-demo',
    )
    expect(pod.containers[0].volumeMounts).toContainEqual({
      name: 'collateral',
      mountPath: '/var/cache/collateral',
    })
    expect(pod.volumes).toContainEqual({ name: 'collateral', emptyDir: { sizeLimit: '64Mi' } })
  })

  test('policies allow the ports of the identity provider, of mirrors and of what the environment names', () => {
    const portsOf = (values: Values, name: string) =>
      find(objectsOf(values), 'NetworkPolicy', name)
        .spec.egress.at(-1)
        .ports.map(({ port }: KubernetesObject) => port)
    const oidc = { issuer: 'https://login.internal:8443/realms/a', clientId: 'a', secretName: 'a' }
    const collector = { name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' }
    const gateway = { publicUrl: 'https://ai.internal', oidc, extraEnv: [collector] }
    expect(portsOf({ ...backend, gateway }, 'privatemode-gateway-demo')).toEqual([8443, 4318])
    const flags = {
      intelPcsUrl: 'https://pccs.internal:8081/sgx',
      amdKdsUrl: 'http://kds.internal',
      nvidiaRimUrl: 'https://rim.internal:8081',
    }
    const extraEnv = [{ name: 'HTTPS_PROXY', value: 'user:word@proxy.internal:3128' }]
    const mirrored = { ...backend, workers: [{ ...chat, flags, extraEnv }] }
    expect(portsOf(mirrored, 'privatemode-worker-chat-demo')).toEqual([443, 80, 8081, 3128])
    expect(portsOf(backend, 'privatemode-worker-chat-demo')).toEqual([443])
  })

  test('every pod has a policy, and those that only read files reach nobody', () => {
    const all = objectsOf(complete)
    const policies = all.filter(({ kind }) => kind === 'NetworkPolicy')
    const governed = (labels: Values) =>
      policies.filter(({ spec }) =>
        Object.entries(spec.podSelector.matchLabels).every(
          ([name, value]) => labels[name] === value,
        ),
      )
    const templates = all
      .map(({ spec }) => spec?.jobTemplate?.spec.template ?? spec?.template)
      .filter((template) => template !== undefined)
    expect(templates.length).toBeGreaterThan(5)
    for (const { metadata } of templates) expect(governed(metadata.labels)).toHaveLength(1)
    const host = find(all, 'NetworkPolicy', 'privatemode-manifests-demo').spec
    expect(host).not.toHaveProperty('egress')
    expect(host.ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 'http' }] }])
  })

  test('every container of ours says how much memory it needs', () => {
    for (const { spec } of objectsOf(complete)) {
      const template = spec?.jobTemplate?.spec.template ?? spec?.template
      for (const { name, resources } of template?.spec.containers ?? []) {
        expect({ name, memory: resources?.requests?.memory }).toEqual({
          ...{ name, memory: expect.stringMatching(/Mi$/) },
        })
      }
    }
  })

  test('migrations run before an update and can reach only the database', () => {
    const job = find(objectsOf(backend), 'Job')
    const policy = find(objectsOf(backend), 'NetworkPolicy', 'privatemode-migrations-demo')
    // Only a hook with a lower weight exists when the job starts.
    expect(policy.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade')
    expect(Number(policy.metadata.annotations['helm.sh/hook-weight'])).toBeLessThan(0)
    expect(policy.spec.policyTypes).toEqual(['Ingress', 'Egress'])
    const ports = policy.spec.egress.flatMap((rule: KubernetesObject) => rule.ports)
    expect([...new Set(ports.map(({ port }: KubernetesObject) => port))]).toEqual([53, 5432])
    expect(policy.spec.ingress).toBeUndefined()
    expect(job.metadata.annotations['helm.sh/hook']).toBe('pre-install,pre-upgrade')
    expect(job.spec.template.spec.containers[0].args[0]).toBe('migrate')
    expect(job.spec.template.spec.volumes).toHaveLength(1)
    const without = objectsOf(withValue(backend, 'migrations.enabled', false))
    expect(without.some((object) => object.kind === 'Job')).toBe(false)
  })

  test('a job with the key, without network access and without a concurrent run re-signs the log', () => {
    const all = objectsOf(complete)
    const job = find(all, 'CronJob')
    expect(job.spec.concurrencyPolicy).toBe('Forbid')
    const { args } = job.spec.jobTemplate.spec.template.spec.containers[0]
    expect(args.slice(0, 3)).toEqual(['manifest', 'publish', '--refresh'])
    const policies = all.filter(({ kind }) => kind === 'NetworkPolicy')
    const own = policies.find(({ metadata }) => metadata.name.includes('manifest-refresh'))
    expect(own.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'] })
    expect(own.spec).not.toHaveProperty('egress')
    const key = complete.manifestRefresh as { secretName: string }
    const holders = all.filter((object) => JSON.stringify(object).includes(key.secretName))
    expect(holders.map(({ kind }) => kind)).toEqual(['CronJob', 'Job'])
    const { template } = find(all, 'Job', 'privatemode-manifest-publish-demo').spec
    // The same policy applies to the job that publishes.
    expect(template.metadata.labels).toMatchObject(own.spec.podSelector.matchLabels)
  })

  test('only its own worker can reach a model server', () => {
    for (const values of [backend, confidential]) {
      const pod = podOf(objectsOf(values), 'Deployment', 'privatemode-worker-chat-demo')
      const [vllm] = pod.initContainers
      expect(vllm.restartPolicy).toBe('Always')
      expect(vllm.args).toContain('--host=127.0.0.1')
      expect(vllm.ports).toBeUndefined()
      expect(pod.containers[0].args).toContain('--engineUrl=http://127.0.0.1:8000')
    }
  })

  test('only gateways can reach workers', () => {
    const policy = find(objectsOf(backend), 'NetworkPolicy', 'privatemode-worker-chat-demo')
    const [rule, ...others] = policy.spec.ingress
    expect(others).toEqual([])
    expect(rule.ports).toEqual([{ protocol: 'TCP', port: 8095 }])
    expect(rule.from[0].podSelector.matchLabels['app.kubernetes.io/component']).toBe('gateway')
  })

  test('GPUs of one machine are used tensor-parallel, and each attests', () => {
    const pod = podOf(objectsOf(confidential), 'Deployment', 'privatemode-worker-chat-demo')
    const [vllm] = pod.initContainers
    expect(vllm.args).toContain('--tensor-parallel-size=8')
    expect(vllm.resources.limits).toEqual({ memory: '512Gi', 'nvidia.com/gpu': 8 })
    expect(pod.runtimeClassName).toBe('kata-qemu-snp')
    expect(pod.containers[0].args).toEqual(
      expect.arrayContaining(['--gpus=8', '--attestation=snp', '--maxRequests=256']),
    )
    expect(pod.terminationGracePeriodSeconds).toBe(80)
  })

  test('several nodes become a LeaderWorkerSet with Ray, and only when that is accepted', () => {
    const { leaderWorkerTemplate: group } = find(objectsOf(manyNodes), 'LeaderWorkerSet').spec
    const leader = group.leaderTemplate.spec.initContainers[0]
    expect(group.size).toBe(2)
    expect(leader.command[2]).toContain('leader --ray_cluster_size="$LWS_GROUP_SIZE"')
    expect(leader.args).toEqual(
      expect.arrayContaining(['--tensor-parallel-size=8', '--pipeline-parallel-size=2']),
    )
    const [follower] = group.workerTemplate.spec.containers
    expect(follower.command[2]).toContain('worker --ray_address="$LWS_LEADER_ADDRESS"')
    const silent = render(chart, { ...backend, workers: [{ ...chat, nodes: 2 }] })
    expect(silent.kind === 'refused' && silent.message).toContain(
      'clients verify the first one only',
    )
  })

  test('the proxyless endpoint is the chart of the proxy, hosted', () => {
    const names = (values: Values) => objectsOf(values).map((object) => object.metadata.name)
    expect(names(backend).filter((name) => name.includes('proxy'))).toEqual([])
    const pod = podOf(objectsOf(complete), 'Deployment', 'privatemode-proxy-demo')
    expect(pod.containers[0].args).toContain('--hosted')
  })

  test('a worker can read the secrets that are mounted for its group', () => {
    const pod = podOf(objectsOf(backend), 'Deployment', 'privatemode-worker-chat-demo')
    const secrets = pod.volumes.filter((volume: KubernetesObject) => volume.secret !== undefined)
    expect(secrets.length).toBeGreaterThan(0)
    for (const { secret } of secrets) expect(secret.defaultMode).toBe(0o440)
    expect(pod.securityContext.fsGroup).toBe(pod.containers[0].securityContext.runAsGroup)
  })

  test('helm waits for a single worker: no strategy lets it go without one', () => {
    const strategyOf = (replicas: number) =>
      find(
        objectsOf({ ...backend, workers: [{ ...chat, replicas }] }),
        'Deployment',
        'privatemode-worker-chat-demo',
      ).spec.strategy
    expect(strategyOf(1)).toEqual({ type: 'Recreate' })
    expect(strategyOf(3).rollingUpdate).toEqual({ maxUnavailable: 1, maxSurge: 0 })
  })

  test('without a GPU vLLM gets no tensor-parallelism flag', () => {
    const objects = objectsOf({ ...backend, workers: [{ ...chat, gpus: 0 }] })
    const [vllm] = podOf(objects, 'Deployment', 'privatemode-worker-chat-demo').initContainers
    expect(vllm.args.join(' ')).not.toContain('tensor-parallel')
    expect(vllm.resources).toEqual({})
  })

  test('every container of a worker is admitted to a namespace that enforces `restricted`', () => {
    const pod = podOf(objectsOf(backend), 'Deployment', 'privatemode-worker-chat-demo')
    expect(pod.securityContext.seccompProfile.type).toBe('RuntimeDefault')
    for (const { securityContext } of [...pod.containers, ...pod.initContainers]) {
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65532,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  test('our containers run without root, privileges or a writable root file system', () => {
    for (const object of objectsOf(complete)) {
      for (const container of object.spec?.template?.spec?.containers ?? []) {
        expect(container.securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
      }
    }
  })
})

/** Where each program names its metrics. */
const metricSources: Readonly<Record<string, readonly string[]>> = {
  gateway: ['gateway/src/metrics/gateway-metrics.ts', 'gateway/src/gateway.ts'],
  worker: [
    ...['worker/src/metrics/worker-metrics.ts', 'worker/src/worker.ts'],
    '../packages/inference/src/metered-engine.ts',
  ],
  proxy: ['proxy/src/proxy-metrics.ts'],
}

function metricsOf(part: string): Set<string> {
  const read = (path: string) => readFileSync(join(import.meta.dir, '../../apps', path), 'utf8')
  const text = (metricSources[part] ?? []).map(read).join('\n')
  const made =
    /(?:counter|seconds|histogram|gauge|gaugeOf|watch)\(\s*['`](?:privatemode_[a-z]+_)?([a-z_]+)['`]/g
  return new Set([...text.matchAll(made)].map(([, name]) => `privatemode_${part}_${name}`))
}

test('the alert for missing workers also fires if nobody reports any', () => {
  const alerts = Bun.YAML.parse(readFileSync(join(chart, 'files/alerts.yaml'), 'utf8'))
  const { rules } = (alerts as KubernetesObject).groups[0]
  const rule = rules.find((one: KubernetesObject) => one.alert === 'PrivatemodeNoWorkers')
  expect(rule.expr).toContain('or absent(privatemode_gateway_workers)')
})

test('dashboard and alerts name metrics that the programs have', () => {
  const used = ['alerts.yaml', 'dashboard.json']
    .map((name) => readFileSync(join(chart, 'files', name), 'utf8'))
    .join('\n')
    .match(/privatemode_(gateway|worker|proxy)_[a-z_]+/g)
  const named = new Set(used?.map((name) => name.replace(/_(bucket|sum|count)$/, '')))
  const known = new Set(Object.keys(metricSources).flatMap((part) => [...metricsOf(part)]))
  expect(named.size).toBeGreaterThan(15)
  expect([...named].filter((name) => !known.has(name))).toEqual([])
})

unlessMissing(withoutHelm).test('the pages understand what the chart tells them', () => {
  const values = withValue(backend, 'gateway.portal', {
    manifestLogKey: logKey,
    proxylessUrl: 'https://api.internal',
    softwareRoot: 'ab'.repeat(32),
  })
  const { data } = find(objectsOf(values), 'ConfigMap', 'privatemode-portal-demo')
  expect(parsePortalConfig(JSON.parse(data['portal.json']))).toEqual({
    manifestLogKey: logKey,
    proxylessUrl: 'https://api.internal',
    softwareRoot: 'ab'.repeat(32),
    proxyUrl: undefined,
    proxylessCaFile: undefined,
  })
})

unlessMissing(withoutHelm).test('the Prometheus that workers scale by may be named alone', () => {
  const peer = { namespaceSelector: { matchLabels: { name: 'monitoring' } } }
  const objects = objectsOf({ ...autoscaled, monitoring: { from: [peer] } })
  const { ingress } = find(objects, 'NetworkPolicy', 'privatemode-worker-chat-demo').spec
  expect(ingress[1]).toEqual({ ports: [{ protocol: 'TCP', port: 9095 }], from: [peer] })
})

unlessMissing(withoutHelm).test(
  'readers of metrics reach a port of the workers with nothing else on it',
  () => {
    const values = withValue(backend, 'monitoring.serviceMonitors', true)
    const { ingress } = find(
      objectsOf(values),
      'NetworkPolicy',
      'privatemode-worker-chat-demo',
    ).spec
    expect(ingress.map((rule: KubernetesObject) => rule.ports[0].port)).toEqual([8095, 9095])
    const endpoints = find(objectsOf(values), 'PodMonitor').spec.podMetricsEndpoints
    expect(endpoints).toEqual([{ port: 'metrics', path: '/metrics', interval: '30s' }])
  },
)
