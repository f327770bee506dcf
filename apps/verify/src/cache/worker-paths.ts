/** What a worker reports about each path to its model server: whether prompt cache isolation is proven. */

export type WorkerPath = {
  readonly model: string
  readonly endpoint: string
  readonly state: string
}

const metric = 'privatemode_worker_cache_isolation'
const maxBytes = 1024 * 1024

export async function readWorkerPaths(url: string): Promise<WorkerPath[]> {
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(10_000) })
  if (!answer.ok) throw new Error(`${url} answers with status ${answer.status}`)
  const text = await answer.text()
  if (text.length > maxBytes) throw new Error(`${url} is larger than ${maxBytes} bytes`)
  const paths = parseWorkerPaths(text)
  if (paths.length > 0) return paths
  throw new Error(`${url} has no ${metric}: the worker has no model server, or is too old`)
}

export function parseWorkerPaths(text: string): WorkerPath[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith(`${metric}{`) || !line.endsWith('} 1')) return []
    const labels = Object.fromEntries(
      [...line.matchAll(/(\w+)="((?:\\.|[^"\\])*)"/g)].map(([, name, value = '']) => [
        name,
        value.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
      ]),
    )
    const { model, endpoint, state } = labels
    return model && endpoint && state ? [{ model, endpoint, state }] : []
  })
}

export function formatWorkerPaths(paths: readonly WorkerPath[] | undefined): string[] {
  if (paths === undefined) return []
  const rows = paths.map(
    ({ model, endpoint, state }) =>
      // A name from a server must not control the terminal.
      `${endpoint.padEnd(15)}${state.padEnd(12)}${model.replace(/\p{C}/gu, '?')}`,
  )
  return ['', "By the worker's own account:", ...rows]
}
