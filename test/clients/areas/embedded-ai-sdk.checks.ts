/** The AI SDK with Zod's schemas, whose integers are bounded by what a double holds, on the embedded engine. */
import { expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, stepCountIs, tool } from 'ai'
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

    // Of the model's 256 tokens a call takes some sixty: bounds of sixteen digits, or a second call, would leave too few.
    test.each([
      ['that is required', 'required'],
      ['by its name', { type: 'tool', toolName: 'pet' }],
    ] as const)('a tool %s is called with an integer, and executed', async (_, toolChoice) => {
      const called: unknown[] = []
      const pet = tool({
        inputSchema: z.object({ age: z.int().min(1).max(30) }),
        execute: (input) => called.push(input),
      })
      const { toolCalls, finishReason } = await generateText({
        ...{ ...asked(), prompt: 'A cat.', tools: { pet }, toolChoice, stopWhen: stepCountIs(1) },
        providerOptions: { privatemode: { parallel_tool_calls: false } },
      })
      expect(finishReason).toBe('tool-calls')
      expect(called).toEqual(toolCalls.map(({ input }) => input))
      expect(called).toEqual([{ age: expect.any(Number) }])
    })
  })
}
