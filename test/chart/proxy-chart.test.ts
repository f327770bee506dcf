/** The proxy's chart, rendered with the real helm. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { container, type Effect, leaves, merge, pod } from './effects.ts'
import { clusterEffects } from './proxy-cluster-effects.ts'
import { configEffects, hosted, minimal } from './proxy-config-effects.ts'
import {
  chartFolder,
  find,
  render,
  renderNotes,
  renderObjects,
  runHelm,
  type Values,
  withoutHelm,
  withValue,
} from './render.ts'

const chart = chartFolder('chart')
const effects: { readonly [path: string]: Effect } = { ...configEffects, ...clusterEffects }
const objectsOf = (values: Values, options = {}) => renderObjects(chart, values, options)
const messageOf = (values: Values, options = {}) => {
  const rendered = render(chart, values, options)
  return rendered.kind === 'refused' ? rendered.message : 'rendered'
}

unlessMissing(withoutHelm).describe('the chart of the proxy', () => {
  test('helm finds nothing to complain about', () => {
    const { ok, stdout } = runHelm(['lint', '--strict', '--quiet', chart, ...setMinimal])
    expect(stdout).not.toMatch(/WARNING|ERROR/)
    expect(ok).toBe(true)
  })

  test('the service is called privatemode-proxy-{release} and the notes say its URL', () => {
    const options = { release: 'team-a', namespace: 'llm' }
    expect(find(objectsOf(minimal, options), 'Service').metadata).toMatchObject({
      name: 'privatemode-proxy-team-a',
      namespace: 'llm',
    })
    expect(renderNotes(chart, minimal, options)).toContain(
      '\n  http://privatemode-proxy-team-a.llm.svc.cluster.local:8080/v1\n',
    )
    expect(renderNotes(chart, hosted, options)).toContain('https://privatemode-proxy-team-a')
  })

  test('a release name that would make the service name too long is refused, not truncated', () => {
    expect(messageOf(minimal, { release: 'a'.repeat(45) })).toBe('rendered')
    expect(messageOf(minimal, { release: 'a'.repeat(46) })).toContain('at most 45')
  })

  test('the service and the policies select the pods of this release and no others', () => {
    const objects = objectsOf(minimal)
    const labels = pod(objects).metadata.labels
    const selectors = [
      find(objects, 'Deployment').spec.selector.matchLabels,
      find(objects, 'Service').spec.selector,
      find(objects, 'PodDisruptionBudget').spec.selector.matchLabels,
      find(objects, 'NetworkPolicy').spec.podSelector.matchLabels,
    ]
    for (const selector of selectors) {
      expect(selector).toEqual(selectors[0])
      expect(labels).toMatchObject(selector)
      expect(selector['app.kubernetes.io/instance']).toBe('demo')
    }
  })

  test('the pod meets the restricted security standard of Kubernetes', () => {
    const objects = objectsOf(minimal)
    expect(pod(objects).spec).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(container(objects).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const { hostNetwork, hostPID, hostIPC } = pod(objects).spec
    expect([hostNetwork, hostPID, hostIPC]).toEqual([undefined, undefined, undefined])
  })

  test('secrets reach the proxy as files and never as arguments or variables', () => {
    for (const values of [minimal, hosted]) {
      const text = JSON.stringify(container(objectsOf(values)))
      expect(text).not.toContain('secretKeyRef')
      for (const arg of container(objectsOf(values)).args) {
        if (/^--(apiKey|promptCacheSalt|hostedSaltSecret)=/.test(arg)) expect(arg).toMatch(/=@\//)
      }
    }
  })

  test('the network policy allows DNS and the two hosts, and nothing else', () => {
    const values = withValue(minimal, 'config.manifestEndpoint', 'log.internal:8443')
    expect(find(objectsOf(values), 'NetworkPolicy').spec).toMatchObject({
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ protocol: 'TCP', port: 'http' }] }],
      egress: [
        {
          ports: [
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 53 },
          ],
        },
        {
          ports: [
            { protocol: 'TCP', port: 443 },
            { protocol: 'TCP', port: 8443 },
          ],
          to: [{ ipBlock: { cidr: '0.0.0.0/0' } }, { ipBlock: { cidr: '::/0' } }],
        },
      ],
    })
  })

  test('fields that an old Kubernetes does not know are left out there', () => {
    const old = objectsOf(withValue(minimal, 'autoscaling.enabled', true), {
      kubeVersion: '1.16.0',
    })
    expect(find(old, 'PodDisruptionBudget').apiVersion).toBe('policy/v1beta1')
    expect(find(old, 'HorizontalPodAutoscaler').apiVersion).toBe('autoscaling/v2beta2')
    expect(pod(old).spec.securityContext.seccompProfile).toBeUndefined()
    expect(container(old).lifecycle).toBeUndefined()
    expect(messageOf(minimal, { kubeVersion: '1.15.0' })).toContain('1.16')
  })
})

unlessMissing(withoutHelm).describe('every value of the chart has its effect', () => {
  for (const [path, effect] of Object.entries(effects)) {
    test(path, () => {
      const base = merge(effect.over ?? minimal, effect.and ?? {})
      const before = render(chart, base)
      const after = objectsOf(withValue(base, path, effect.value))
      expect(effect.holds(after)).toBe(true)
      // Where the value is needed, the chart without it is refused, which is an effect as well.
      if (before.kind === 'objects') expect(effect.holds(before.objects)).toBe(false)
    })
  }

  test('no value of values.yaml is missing from this list', () => {
    const defaults = Bun.YAML.parse(readFileSync(join(chart, 'values.yaml'), 'utf8'))
    expect(leaves(defaults as Values, whole).sort()).toEqual(Object.keys(effects).sort())
  })
})

test('the chart and the programs have one version', () => {
  const { version, appVersion } = Bun.YAML.parse(
    readFileSync(join(chart, 'Chart.yaml'), 'utf8'),
  ) as Values
  const root = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'))
  expect([version, appVersion]).toEqual([root.version, root.version])
})

/** Maps that are passed through as they are. */
const whole = ['resources', 'podSecurityContext', 'securityContext']
const setMinimal = [
  ...['--set', 'image.repository=r/p', '--set', 'config.apiEndpoint=a:443'],
  ...['--set', 'config.manifestLogKey=k'],
]
