/**
 * The single table of public routes; listeners, the OpenAPI document and tests are derived from it.
 */

export type Dialect = 'openai' | 'anthropic'

export type Endpoint =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'messages'
  | 'count_tokens'
  | 'responses'
  | 'models'
  | 'model'

export type Route = {
  readonly method: 'GET' | 'POST'
  /** `{id}` matches the rest of the path, slashes included: model names contain them. */
  readonly path: string
  readonly dialect: Dialect
  readonly endpoint: Endpoint
  /** Whether the body is sealed to a worker; the client answers the other routes itself. */
  readonly sealed: boolean
  readonly deprecated: boolean
  readonly summary: string
}

const post = (endpoint: Endpoint, dialect: Dialect, path: string, summary: string): Route => ({
  method: 'POST',
  path,
  dialect,
  endpoint,
  sealed: true,
  deprecated: false,
  summary,
})

const get = (endpoint: Endpoint, path: string, summary: string): Route => ({
  method: 'GET',
  path,
  dialect: 'openai',
  endpoint,
  sealed: false,
  deprecated: false,
  summary,
})

export const routes: readonly Route[] = [
  post('chat', 'openai', '/v1/chat/completions', 'Create a chat completion'),
  {
    ...post('completions', 'openai', '/v1/completions', 'Create a legacy completion'),
    deprecated: true,
  },
  post('embeddings', 'openai', '/v1/embeddings', 'Create embeddings'),
  post('messages', 'anthropic', '/v1/messages', 'Create a message'),
  post('count_tokens', 'anthropic', '/v1/messages/count_tokens', 'Count the tokens of a message'),
  post('responses', 'openai', '/v1/responses', 'Create a response'),
  get('models', '/v1/models', 'List the available models'),
  get('model', '/v1/models/{id}', 'Retrieve one model'),
]

export type FoundRoute =
  | { readonly kind: 'found'; readonly route: Route; readonly modelId: string | undefined }
  | { readonly kind: 'wrong_method'; readonly dialect: Dialect; readonly allow: string }
  | { readonly kind: 'unknown'; readonly dialect: Dialect }

const byPath = new Map(
  routes.filter((route) => route.endpoint !== 'model').map((route) => [route.path, route]),
)
const modelPrefix = '/v1/models/'
const modelRoute = routes.find((route) => route.endpoint === 'model')

/** Finds the route of a request; `pathname` has no query. HEAD is accepted wherever GET is. */
export function findRoute(method: string, pathname: string): FoundRoute {
  const dialect = dialectOf(pathname)
  const exact = byPath.get(pathname)
  if (exact !== undefined) return matchMethod(method, exact, undefined)
  if (modelRoute !== undefined && pathname.startsWith(modelPrefix)) {
    const modelId = decodeModelId(pathname.slice(modelPrefix.length))
    if (modelId !== undefined) return matchMethod(method, modelRoute, modelId)
  }
  return { kind: 'unknown', dialect }
}

/** The dialect of errors depends on the path alone, even where no route matches. */
export function dialectOf(pathname: string): Dialect {
  return pathname === '/v1/messages' || pathname.startsWith('/v1/messages/')
    ? 'anthropic'
    : 'openai'
}

function matchMethod(method: string, route: Route, modelId: string | undefined): FoundRoute {
  const asked = method === 'HEAD' ? 'GET' : method
  if (asked === route.method) return { kind: 'found', route, modelId }
  const allow = route.method === 'GET' ? 'GET, HEAD' : route.method
  return { kind: 'wrong_method', dialect: route.dialect, allow }
}

function decodeModelId(rest: string): string | undefined {
  try {
    const id = decodeURIComponent(rest)
    return id === '' ? undefined : id
  } catch {
    return undefined // a malformed percent escape names no model
  }
}
