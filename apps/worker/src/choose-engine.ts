/** Starts the engine selected in the settings. */
import { type Engine, EngineError, type PathIsolation } from '@privatemode/inference'
import { connectHttpEngine, type HttpEngineParts } from '@privatemode/inference/servers'
import type { Log } from '@privatemode/service'
import type { EngineChoice } from './engine-settings.ts'
import { WorkerError } from './worker-error.ts'

export async function chooseEngine(choice: EngineChoice, log: Log): Promise<Engine> {
  switch (choice.kind) {
    case 'embedded': {
      // Loaded on demand: a worker with a model server runs without the native engine installed.
      const { createEmbeddedEngine } = await import('@privatemode/inference/llama')
      const { kind: _, promptCacheBytes: prefixCacheBytes, ...settings } = choice
      return await createEmbeddedEngine({ ...settings, prefixCacheBytes })
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
  const { url: baseUrl, kind: _, waitSeconds, ...settings } = choice
  const parts: HttpEngineParts = {
    now: () => new Date(),
    onHealth: (isHealthy, detail) =>
      isHealthy
        ? log.info('model server is back', { detail })
        : log.error('model server is unreachable', { detail }),
    onWaiting: (detail) => log.info('waiting for the model server', { detail }),
    onInspected: (isolation) => {
      for (const path of isolation) logPath(path, log)
    },
  }
  const given = { baseUrl, waitMs: waitSeconds * 1000, ...settings }
  const engine = await connectHttpEngine(given, parts).catch((cause) => {
    // Callers never learn the server's address, but the operator starting the worker needs it.
    const why = cause instanceof EngineError ? cause.message : 'it cannot be used'
    const address = baseUrl.replace(/\/\/[^/]*@/, '//')
    throw new WorkerError('engine_unusable', `${address}: ${why}`, { cause })
  })
  const dialects = (['messages', 'responses'] as const).filter((dialect) =>
    engine.models().some(({ id }) => engine.speaks?.(dialect, id)),
  )
  const detail = `${engine.name}; dialects passed on: ${dialects.join(', ') || 'none'}`
  log.info('using model server', { detail })
  return engine
}
