/** Starts the engine that the settings name. */
import type { Log } from '@privatemode/service'
import type { Engine } from './engine/engine.ts'
import type { EngineChoice } from './engine/engine-settings.ts'
import { connectHttpEngine } from './engine/http/http-engine.ts'

export async function chooseEngine(choice: EngineChoice, log: Log): Promise<Engine> {
  switch (choice.kind) {
    case 'embedded': {
      // Loaded where it is used: a worker with a model server runs without the native engine being installed.
      const { createEmbeddedEngine } = await import('./engine/embedded/embedded-engine.ts')
      const { models, threads, promptCacheBytes, maxWaiting } = choice
      const prefixCacheBytes = promptCacheBytes
      return await createEmbeddedEngine({ models, threads, prefixCacheBytes, maxWaiting })
    }
    case 'http':
      return await connectHttpEngine(
        {
          baseUrl: choice.url,
          apiKey: choice.apiKey,
          acceptSharedCache: choice.acceptSharedCache,
          translateDialects: choice.translateDialects,
          maxConcurrent: choice.maxConcurrent,
        },
        {
          fetch,
          now: () => new Date(),
          onHealth: (isHealthy, detail) =>
            isHealthy
              ? log.info('model server is back', { detail })
              : log.error('model server is away', { detail }),
        },
      )
  }
}
