/** Every check of compatibility through the real proxy and proxyless endpoint of one running stack. */
import { afterAll, beforeAll } from 'bun:test'
import { chatChecks } from './areas/chat.checks.ts'
import { chatOptionChecks } from './areas/chat-options.checks.ts'
import { httpChecks } from './areas/http.checks.ts'
import { keyChecks } from './areas/keys.checks.ts'
import { messageChecks } from './areas/messages.checks.ts'
import { modelChecks } from './areas/models.checks.ts'
import { otherEndpointChecks } from './areas/other-endpoints.checks.ts'
import { privacyChecks } from './areas/privacy.checks.ts'
import { retryChecks } from './areas/retries.checks.ts'
import { patienceChecks, streamChecks } from './areas/streams.checks.ts'
import { toolChecks } from './areas/tools.checks.ts'
import { ClientStack, embedModel, model, startLimitMs, visionModel } from './client-stack.ts'

const place = new ClientStack({
  kind: 'vllm',
  cache: 'salted',
  models: [model, visionModel, embedModel],
  visionModels: [visionModel],
  embedModels: [embedModel],
})
beforeAll(() => place.start(), startLimitMs)
afterAll(() => place.stop(), 60_000)

const lookAtPatience = patienceChecks(place)
keyChecks(place)
httpChecks(place)
streamChecks(place)
retryChecks(place)
privacyChecks(place)
modelChecks(place)
chatChecks(place)
toolChecks(place)
chatOptionChecks(place)
otherEndpointChecks(place)
messageChecks(place)
lookAtPatience()
