/** Starts the engine selected in the settings. */
import { type Engine, EngineError, type PathIsolation } from '@privatemode/inference'
import { connectHttpEngine, type HttpEngineParts } from '@privatemode/inference/servers'
import { readVerityRoot } from '@privatemode/inference/verity-root'
import type { Log } from '@privatemode/service'
import type { EngineChoice, ServedModel } from './engine-settings.ts'
import { WorkerError } from './worker-error.ts'

export async function chooseEngine(choice: EngineChoice, log: Log): Promise<Engine> {
  switch (choice.kind) {
    case 'embedded': {
      // Loaded on demand: a worker with a model server runs without the native engine installed.
      const { createEmbeddedEngine } = await import('@privatemode/inference/llama')
      const { models, threads, promptCacheBytes, maxWaiting } = choice
      const prefixCacheBytes = promptCacheBytes
      return await createEmbeddedEngine({ models, threads, prefixCacheBytes, maxWaiting })
    }
    case 'http':
      return await connect(choice, log)
  }
}

/** Logs one line per path, so that trusted isolation is not mistaken for proven isolation. */
function logPath({ model, endpoint, state, detail }: PathIsolation, log: Log): void {
  const isTranslated = endpoint === 'messages' || endpoint === 'responses'
  const isNotable = state === 'accepted' || (state === 'unused' && !isTranslated)
  const fields = { model, route: endpoint, outcome: state, detail }
  if (isNotable) log.warn('prompt cache isolation', fields)
  else log.info('prompt cache isolation', fields)
}

async function connect(choice: EngineChoice & { kind: 'http' }, log: Log): Promise<Engine> {
  const { url: baseUrl, served, waitSeconds, kind: _, ...settings } = choice
  const parts: HttpEngineParts = {
    now: () => new Date(),
    onHealth: (isHealthy, detail) =>
      isHealthy
        ? log.info('model server is back', { detail })
        : log.error('model server is unreachable', { detail }),
    onInspected: (isolation) => {
      for (const path of isolation) logPath(path, log)
    },
  }
  const bound = served === undefined ? {} : await bindModels(served)
  const given = { baseUrl, ...bound, ...settings }
  const engine = await untilReady(() => connectHttpEngine(given, parts), waitSeconds, log).catch(
    (cause) => {
      // Callers never learn the server's address, but the operator starting the worker needs it.
      const why = cause instanceof EngineError ? cause.message : 'it cannot be used'
      const { protocol, pathname, origin } = new URL(baseUrl)
      const address = protocol === 'unix:' ? `unix:${pathname}` : origin
      throw new WorkerError('engine_unusable', `${address}: ${why}`, { cause })
    },
  )
  const dialects = (['messages', 'responses'] as const).filter((dialect) =>
    engine.models().some(({ id }) => engine.speaks?.(dialect, id)),
  )
  const detail = `${engine.name}; dialects passed on: ${dialects.join(', ') || 'none'}`
  log.info('using model server', { detail })
  return engine
}

/** Each model is stated with the root hash that the kernel enforces for its weights. */
async function bindModels(served: readonly ServedModel[]) {
  for (const { id, path, verityRoot } of served) {
    const seen = await readVerityRoot(path).catch(() => undefined)
    if (seen === verityRoot) continue
    const message = `${path} is not on a volume with the root hash ${verityRoot}: the model ${id} is not served`
    throw new WorkerError('engine_unusable', message)
  }
  const models = Object.fromEntries(
    served.map(({ id, path: _, verityRoot, ...facts }) => [id, { digest: verityRoot, ...facts }]),
  )
  return { models, requiresListedModels: true }
}

const retryMs = 1000

/** A server that loads a large model is unavailable for minutes; why is logged when it changes. */
async function untilReady(
  connect: () => Promise<Engine>,
  waitSeconds: number,
  log: Log,
): Promise<Engine> {
  const deadlineMs = performance.now() + waitSeconds * 1000
  let logged: string | undefined
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      const isLoading = error instanceof EngineError && error.code === 'engine_unavailable'
      if (!isLoading || performance.now() + retryMs > deadlineMs) throw error
      if (error.message !== logged)
        log.info('waiting for the model server', { detail: error.message })
      logged = error.message
    }
    await Bun.sleep(retryMs)
  }
}
