/** The official Python clients through the running stack, with `extra_body={"cache_salt": …}`. */
import { expect } from 'bun:test'
import { join } from 'node:path'
import { unlessMissing } from '@privatemode/service/testing'
import { serverSalt } from '../../../packages/inference/src/servers/server-salt.ts'
import {
  type ClientStack,
  embedModel,
  freshWords,
  model,
  saltOf,
  throughBoth,
  visionModel,
} from '../client-stack.ts'
import { type Python, runPythonClients } from '../python-clients.ts'

export function pythonChecks(place: ClientStack, python: Python): void {
  const missing = 'missing' in python ? python.missing : undefined
  throughBoth('Python clients', place, (entrance) => {
    unlessMissing(missing).test(
      'openai and anthropic: chat, streams, tools, embeddings, models, cache_salt',
      async () => {
        if ('missing' in python) return
        const words = freshWords(3)
        const salt = saltOf(entrance.name === 'proxy' ? 'y' : 'z')
        const { url, apiKey, ca } = entrance.target
        const args = [url, apiKey ?? 'unused', model, embedModel, salt, words]
        const caPath = ca === undefined ? undefined : join(place.stack.home, 'tls', 'ca.pem')
        const seen = await runPythonClients(python.path, args, caPath)
        const said = `You said: ${words}`
        const models = [model, visionModel, embedModel].sort()
        expect(seen).toMatchObject({
          ...{ chat: said, stream: said, stream_tokens: 9, tool: { at: 'sky' } },
          ...{ completion: 'You said: hi', embedding_length: 4, response: 'You said: hi' },
          ...{ models, claude_models: models, error_code: 'model_not_found' },
          ...{ message: said, message_stream: said, counted: true },
        })
        expect(seen.embedding_error as number).toBeLessThan(1e-6)
        const salted = place.server.requests.filter(
          ({ body }) => body.cache_salt === serverSalt(salt),
        )
        expect(salted).toHaveLength(2)
      },
      180_000,
    )
  })
}
