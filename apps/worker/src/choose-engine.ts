/** Starts the engine that the settings name. */
import type { Log } from '@privatemode/service'
import { createEmbeddedEngine } from './engine/embedded/embedded-engine.ts'
import type { Engine } from './engine/engine.ts'
import { connectHttpEngine } from './engine/http/http-engine.ts'
import type { EngineChoice } from './settings.ts'

export async function chooseEngine(choice: EngineChoice, log: Log): Promise<Engine> {
  switch (choice.kind) {
    case 'embedded':
      return await createEmbeddedEngine({ models: choice.models })
    case 'http':
      return await connectHttpEngine(
        {
          baseUrl: choice.url,
          apiKey: choice.apiKey,
          acceptSharedCache: choice.acceptSharedCache,
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
