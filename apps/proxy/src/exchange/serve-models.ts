/** Serves the model list: models in the manifest that the backend serves. */
import type { HeaderLookup } from '@privatemode/http'
import { formatModel, formatModelList, requireModel } from '@privatemode/protocol/api'
import { requestIdHeaders } from '@privatemode/service'
import type { App } from '../app-state.ts'
import { chooseApiKey } from '../inbound/credentials.ts'
import type { RequestRecord } from '../inbound/request-record.ts'

export async function serveModels(
  app: App,
  headers: HeaderLookup,
  modelId: string | undefined,
  record: RequestRecord,
): Promise<Response> {
  const apiKey = chooseApiKey(headers, app.apiKey)
  const models = (await app.client.models(apiKey)).map((facts) => formatModel(facts))
  const body = modelId === undefined ? formatModelList(models) : requireModel(models, modelId)
  const text = JSON.stringify(body)
  record.status = 200
  record.sent(text.length)
  record.close('complete', undefined, app.log, app.metrics)
  return new Response(text, {
    headers: {
      ...app.everyHeader,
      'content-type': 'application/json',
      ...requestIdHeaders(record.requestId),
    },
  })
}
