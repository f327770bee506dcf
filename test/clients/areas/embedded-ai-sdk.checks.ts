/** The AI SDK with Zod's schemas, whose integers are bounded by what a double holds, on the embedded engine. */
import { expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject } from 'ai'
import { z } from 'zod'
import { throughBoth } from '../client-stack.ts'
import { type EmbeddedStack, storyModel } from '../embedded-stack.ts'

const cat = z.object({ legs: z.number().int(), age: z.int().min(0), isBlack: z.boolean() })

export function embeddedAiSdkChecks(place: EmbeddedStack): void {
  throughBoth('embedded engine with the AI SDK', place, (entrance) => {
    const provider = () =>
      createOpenAICompatible({
        ...{ name: 'privatemode', baseURL: `${entrance.url}/v1`, supportsStructuredOutputs: true },
        ...{ apiKey: entrance.target.apiKey ?? 'unused', fetch: entrance.clientFetch() },
      })
    const asked = () => ({
      ...{ model: provider()(storyModel), temperature: 0, maxOutputTokens: 100, maxRetries: 0 },
    })

    test('an object with integers is one, and the schema of Zod is taken as it is', async () => {
      const { object } = await generateObject({ ...asked(), schema: cat, prompt: 'A cat.' })
      expect(cat.parse(object)).toEqual(object)
    })
  })
}
