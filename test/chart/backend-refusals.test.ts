/** Values that contradict each other, or mean nothing, are refused with a word that helps. */
import { expect, test } from 'bun:test'
import { unlessMissing } from '@privatemode/service/testing'
import { backend, chat } from './backend-values.ts'
import { chartFolder, render, renderNotes, type Values, withoutHelm, withValue } from './render.ts'

const chart = chartFolder('backend')
const messageOf = (values: Values) => {
  const rendered = render(chart, values)
  return rendered.kind === 'refused' ? rendered.message : 'rendered'
}

const refusals: readonly [Values, string][] = [
  [{}, 'set images.gateway'],
  [withValue(backend, 'gateway.tls.enabled', true), 'needs gateway.tls.secretName'],
  [withValue(backend, 'gateway.tls.caSecretName', 'ca'), 'tls.caSecretName has no effect'],
  [withValue(backend, 'gateway.oidc.issuer', 'https://a'), 'needs gateway.oidc.clientId'],
  [withValue(backend, 'gateway.oidc.clientId', 'a'), 'have no effect without'],
  [
    withValue(backend, 'gateway.oidc', { issuer: 'https://a', clientId: 'a', secretName: 'a' }),
    'to come back to',
  ],
  [withValue(backend, 'gateway.limits.maxRequest', 1), 'maxRequest'],
  [withValue(backend, 'database.secretName', ''), 'set database.secretName'],
  [withValue(backend, 'manifestHost.enabled', true), 'needs manifestHost.image'],
  [withValue(backend, 'manifestRefresh.secretName', 'key'), 'set images.verify'],
  [
    withValue(backend, 'manifestRefresh.volumeClaimName', 'log'),
    'without manifestRefresh.secretName',
  ],
  [{ ...backend, workers: [chat, chat] }, 'two workers are called chat'],
  [{ ...backend, workers: [{ name: 'x' }] }, '/workers/0'],
  [{ ...backend, workers: [{ ...chat, flags: { surprise: 1 } }] }, 'surprise'],
  [{ ...backend, workers: [{ ...chat, gpus: 0, attestGpus: true }] }, 'no GPU to attest'],
  [{ ...backend, workers: [{ ...chat, softwareIdentitySecret: 's', mountTsm: true }] }, 'not both'],
  [
    { ...backend, monitoring: { serviceMonitors: true }, gateway: { metrics: { enabled: false } } },
    'nothing to read',
  ],
  [withValue(backend, 'monitoring.from', [{ podSelector: {} }]), 'monitoring.from has no effect'],
  [withValue(backend, 'gateway.portal.softwareRoot', 'x'), 'softwareRoot'],
]

unlessMissing(withoutHelm).describe('the chart of the backend refuses', () => {
  for (const [values, said] of refusals) {
    test(said, () => expect(messageOf(values)).toContain(said))
  }
})

unlessMissing(withoutHelm).test('the notes say what the portal still lacks', () => {
  const told = renderNotes(chart, backend)
  expect(told).toContain('Nobody can sign in before gateway.publicUrl')
  expect(told).toContain('verifies nothing before gateway.portal.manifestLogKey')
  const set = withValue(backend, 'gateway.publicUrl', 'https://ai.internal')
  const whole = withValue(set, 'gateway.portal.manifestLogKey', 'log+1+AA')
  expect(renderNotes(chart, whole)).not.toMatch(/sign in|verifies nothing/)
})
