/** Which of a request's workers can be tried, and the error if none can. */
import { expect, test } from 'bun:test'
import { FairShare } from '@privatemode/service'
import { parseRegistration } from '../registry/registration.ts'
import type { ViewedWorker, WorkerView } from '../registry/worker-view.ts'
import { registrationFields, testModel } from '../testing/scripted-worker.ts'
import { findCandidates } from './find-candidates.ts'

const viewed = (id: string, draining = false): ViewedWorker => ({
  worker: {
    ...parseRegistration(id, registrationFields('http://10.0.0.7:8095')),
    ...{ draining, registeredAt: new Date(0), leaseUntil: new Date(0) },
  },
  ...{
    inFlightAtReport: 0,
    shares: new FairShare(),
    attestations: new FairShare(),
    suspectUntilMs: 0,
  },
})

const entries = new Map([viewed('w_one'), viewed('w_old', true)].map((one) => [one.worker.id, one]))
const view = { find: (id: string) => entries.get(id) } as WorkerView

function find(workerIds: readonly string[], model = testModel.id): readonly string[] {
  const sealed = { requestId: '', path: '', lengthBytes: 0, model, workerIds }
  return findCandidates(sealed, 0, { view, random: () => 0 }).map(({ worker }) => worker.id)
}

test('live workers that serve the model and are not draining are candidates', () => {
  expect(find(['w_gone', 'w_old', 'w_one'])).toEqual(['w_one'])
})

test.each([
  ['worker_unknown', ['w_gone'], testModel.id],
  ['model_not_found', ['w_one'], 'another'],
  ['no_worker', ['w_old'], testModel.id],
] as const)('otherwise the code is %s', (code, ids, model) => {
  expect(() => find(ids, model)).toThrow(expect.objectContaining({ code }))
})
