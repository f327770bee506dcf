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
}

const post = (endpoint: Endpoint, dialect: Dialect, path: string): Route => ({
  method: 'POST',
  path,
  dialect,
  endpoint,
  sealed: true,
  deprecated: false,
})

const get = (endpoint: Endpoint, path: string): Route => ({
  method: 'GET',
  path,
  dialect: 'openai',
  endpoint,
  sealed: false,
  deprecated: false,
})

export const routes: readonly Route[] = [
  post('chat', 'openai', '/v1/chat/completions'),
  {
    ...post('completions', 'openai', '/v1/completions'),
    deprecated: true,
  },
  post('embeddings', 'openai', '/v1/embeddings'),
  post('messages', 'anthropic', '/v1/messages'),
  post('count_tokens', 'anthropic', '/v1/messages/count_tokens'),
  post('responses', 'openai', '/v1/responses'),
  get('models', '/v1/models'),
  get('model', '/v1/models/{id}'),
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
