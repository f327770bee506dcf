/** Starts the engine that the settings name. */
import type { Log } from '@privatemode/service'
import { createEmbeddedEngine } from './engine/embedded/embedded-engine.ts'
import type { Engine } from './engine/engine.ts'
import { createHttpEngine } from './engine/http/http-engine.ts'
import type { EngineChoice } from './settings.ts'

export async function chooseEngine(choice: EngineChoice, log: Log): Promise<Engine> {
  switch (choice.kind) {
    case 'embedded':
      return await createEmbeddedEngine({ models: choice.models })
    case 'http':
      return await createHttpEngine({ url: choice.url, apiKey: choice.apiKey, log })
  }
}
