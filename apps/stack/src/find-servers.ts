/** Looks for model servers running on this machine, to suggest how to use them. */

export type FoundServer = { readonly name: string; readonly url: string; readonly use: string }

type Probe = {
  readonly path: string
  /** How to use the server, derived from its answer; undefined if it is something else. */
  readonly read: (answer: unknown, url: string) => Omit<FoundServer, 'url'> | undefined
}

const usualWithinMs = 500
const longestAnswer = 1_000_000

const ollama: Probe = {
  path: '/api/tags',
  read(answer) {
    const models = listOf(answer, 'models').flatMap(({ name }) =>
      typeof name === 'string' && /^[\w./:-]{1,100}$/.test(name) ? [name] : [],
    )
    const [first] = models
    return first === undefined
      ? undefined
      : { name: 'Ollama', use: `--chatModel ollama:${first.replace(/:latest$/, '')}` }
  },
}

/** What servers report as the owner of their models; Ollama, whose list names another, is found above. */
const owners: Readonly<Record<string, string>> = {
  vllm: 'vLLM',
  'vllm-frontend-rs': 'vLLM',
  llamacpp: 'llama-server',
}

const openAi: Probe = {
  path: '/v1/models',
  read(answer, url) {
    const [name] = listOf(answer, 'data').flatMap(({ owned_by: owner }) =>
      typeof owner === 'string' && Object.hasOwn(owners, owner) ? [owners[owner]] : [],
    )
    return name === undefined ? undefined : { name, use: `--engineUrl ${url}` }
  },
}

/** Where each listens by default. */
const usual: readonly (readonly [string, Probe])[] = [
  ['http://127.0.0.1:11434', ollama],
  ['http://127.0.0.1:8000', openAi],
  ['http://127.0.0.1:8081', openAi],
]

/** Never fails and never takes long: a server that does not answer quickly is not mentioned. */
export async function findServers(
  places = usual,
  withinMs = usualWithinMs,
): Promise<FoundServer[]> {
  const found = await Promise.all(
    places.map(async ([url, { path, read }]) => {
      try {
        const response = await fetch(url + path, {
          redirect: 'error',
          signal: AbortSignal.timeout(withinMs),
        })
        const text = response.ok ? await readShort(response) : undefined
        if (text === undefined) return undefined
        const told = read(JSON.parse(text), url)
        return told === undefined ? undefined : { ...told, url }
      } catch {
        return undefined
      }
    }),
  )
  return found.filter((server) => server !== undefined)
}

export const formatFound = ({ name, url, use }: FoundServer): string =>
  `Found ${name} at ${url}; to use it: npm start -- ${use}`

export const probes = { ollama, openAi } as const

/** `undefined` for an answer that is longer than any list of models; the rest is not read. */
async function readShort(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true })
    if (text.length > longestAnswer) return undefined
  }
  return text
}

function listOf(answer: unknown, field: string): Record<string, unknown>[] {
  const list = (answer as Record<string, unknown> | null)?.[field]
  return Array.isArray(list) ? list.filter((each) => typeof each === 'object' && each !== null) : []
}
