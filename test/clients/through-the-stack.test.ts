/** Every check of compatibility through the real proxy and proxyless endpoint of one running stack. */
import { afterAll, beforeAll } from 'bun:test'
import { chatChecks } from './areas/chat.checks.ts'
import { chatOptionChecks } from './areas/chat-options.checks.ts'
import { documentChecks } from './areas/documents.checks.ts'
import { embeddedAiSdkChecks } from './areas/embedded-ai-sdk.checks.ts'
import { embeddedChatChecks } from './areas/embedded-chat.checks.ts'
import { embeddedOtherChecks } from './areas/embedded-others.checks.ts'
import { httpChecks } from './areas/http.checks.ts'
import { keyChecks } from './areas/keys.checks.ts'
import { messageChecks } from './areas/messages.checks.ts'
import { modelChecks } from './areas/models.checks.ts'
import { officialClientChecks } from './areas/official-clients.checks.ts'
import { openApiChecks } from './areas/openapi.checks.ts'
import { otherEndpointChecks } from './areas/other-endpoints.checks.ts'
import { privacyChecks } from './areas/privacy.checks.ts'
import { pythonChecks } from './areas/python.checks.ts'
import { retryChecks } from './areas/retries.checks.ts'
import { patienceChecks, streamChecks } from './areas/streams.checks.ts'
import { toolChecks } from './areas/tools.checks.ts'
import { ClientStack, embedModel, model, startLimitMs, visionModel } from './client-stack.ts'
import { EmbeddedStack } from './embedded-stack.ts'
import { preparePython } from './python-clients.ts'

const place = new ClientStack({
  kind: 'vllm',
  cache: 'salted',
  models: [model, visionModel, embedModel],
  visionModels: [visionModel],
  embedModels: [embedModel],
})
const embedded = new EmbeddedStack()
const python = await preparePython()
beforeAll(() => Promise.all([place.start(), embedded.start()]), startLimitMs)
afterAll(() => Promise.all([place.stop(), embedded.stop()]), 60_000)

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
openApiChecks(place)
officialClientChecks(place)
pythonChecks(place, python)
documentChecks(place, python)
embeddedChatChecks(embedded)
embeddedOtherChecks(embedded)
embeddedAiSdkChecks(embedded)
lookAtPatience()
