/** The OpenAPI document of the public API, generated from the route table that the programs use. */
import { type Endpoint, type Route, routes } from '@privatemode/protocol/api'
import { requestSchemas } from './request-schemas.ts'
import { responseSchemas } from './response-schemas.ts'
import { ref, type Schema, text } from './schema.ts'

type Bodies = { request?: string; response: string; event?: string }

const bodies: Readonly<Record<Endpoint, Bodies>> = {
  chat: { request: 'ChatRequest', response: 'ChatCompletion', event: 'ChatCompletionChunk' },
  completions: { request: 'CompletionRequest', response: 'Completion', event: 'Completion' },
  embeddings: { request: 'EmbeddingsRequest', response: 'Embeddings' },
  messages: { request: 'MessagesRequest', response: 'Message', event: 'MessageEvent' },
  count_tokens: { request: 'CountTokensRequest', response: 'TokenCount' },
  responses: { request: 'ResponsesRequest', response: 'Response', event: 'ResponseEvent' },
  models: { response: 'ModelList' },
  model: { response: 'Model' },
}

export function openApiDocument(): Schema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Privatemode',
      version: '0.1.0',
      description:
        'Text and embeddings from language models, compatible with the OpenAI and Anthropic interfaces. The same surface is served by the local proxy and by the proxyless endpoint.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: 'http://127.0.0.1:8080', description: 'the local proxy' },
      { url: 'https://127.0.0.1:8443', description: 'the proxyless endpoint' },
    ],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths: { ...paths(), '/health': { get: healthOperation } },
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
      },
      headers: { RequestId: { description: 'Names the request in both dialects.', schema: text } },
      schemas: { ...requestSchemas, ...responseSchemas },
    },
  }
}

const healthOperation: Schema = {
  operationId: 'health',
  summary: 'Whether the service answers',
  security: [],
  responses: { 200: { description: 'It does.' }, 503: { description: 'It does not serve now.' } },
}

const summaries: Readonly<Record<Endpoint, string>> = {
  chat: 'Create a chat completion',
  completions: 'Create a legacy completion',
  embeddings: 'Create embeddings',
  messages: 'Create a message',
  count_tokens: 'Count the tokens of a message',
  responses: 'Create a response',
  models: 'List the available models',
  model: 'Retrieve one model',
}

function paths(): Record<string, Record<string, Schema>> {
  const all: Record<string, Record<string, Schema>> = {}
  for (const route of routes)
    all[route.path] = { ...all[route.path], [route.method.toLowerCase()]: operation(route) }
  return all
}

function operation(route: Route): Schema {
  const { request, response, event } = bodies[route.endpoint]
  const json = (name: string) => ({ 'application/json': { schema: ref(name) } })
  const stream = event === undefined ? {} : { 'text/event-stream': { schema: ref(event) } }
  const error = route.dialect === 'anthropic' ? 'AnthropicError' : 'OpenAiError'
  return {
    operationId: route.endpoint,
    summary: summaries[route.endpoint],
    ...(route.deprecated ? { deprecated: true } : {}),
    ...(route.path.includes('{id}') ? { parameters: [idParameter] } : {}),
    ...(request === undefined ? {} : { requestBody: { required: true, content: json(request) } }),
    responses: {
      200: {
        description: 'The answer; events where a stream was asked for.',
        headers: requestIds,
        content: { ...json(response), ...stream },
      },
      default: {
        description: 'An error in the dialect of the path.',
        headers: requestIds,
        content: json(error),
      },
    },
  }
}

const requestIds: Schema = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'request-id': { $ref: '#/components/headers/RequestId' },
}

const idParameter: Schema = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Name of a model; it may have slashes, raw or encoded.',
  schema: text,
}
