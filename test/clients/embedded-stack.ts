/** A running stack whose worker runs small models in its own process: the embedded engine. */

import { type RunningStack, runStack } from '../e2e/running-stack.ts'
import { modelPath } from '../story-model.ts'
import { entrancesOf } from './entrance.ts'

export const storyModel = 'stories15m'
export const vectorModel = 'all-minilm-l6-v2'
export const storyContext = 256

export class EmbeddedStack {
  readonly #entrances = entrancesOf(() => this.stack)
  readonly proxy = this.#entrances.proxy
  readonly proxyless = this.#entrances.proxyless
  #stack: RunningStack | undefined

  get stack(): RunningStack {
    if (this.#stack === undefined) throw new Error('the stack is not running')
    return this.#stack
  }

  async start(): Promise<void> {
    const [chatModel, embedModel] = [await modelPath(storyModel), await modelPath(vectorModel)]
    // The checks are about compatibility; plain HTTPS clients would wait for padding at every call.
    const args = ['--chatModel', chatModel, '--embedModel', embedModel, '--trafficShape', 'off']
    this.#stack = await runStack(args)
  }

  async stop(): Promise<void> {
    await this.#stack?.stop()
  }
}

/** A chat with the story teller: greedy and short unless `fields` say otherwise. */
export const story = (content: string, fields: object = {}) => ({
  model: storyModel,
  messages: [{ role: 'user' as const, content }],
  temperature: 0,
  max_tokens: 12,
  ...fields,
})
