/** Sends a running proxy one question, plain and streamed, through everything behind it. */
import { expect } from 'bun:test'
import { chatModel, ScriptedEngine } from '../../packages/inference/src/testing/scripted-engine.ts'

const story = 'once upon a time'
export const storyModel = chatModel.id

export const storyEngine = () =>
  new ScriptedEngine({ deltas: story.split(/(?= )/).map((content) => ({ content })) })

export async function askThrough(proxyUrl: string, apiKey: string): Promise<void> {
  const ask = (stream: boolean) =>
    fetch(`${proxyUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: storyModel,
        stream,
        messages: [{ role: 'user', content: 'hello' }],
      }),
      signal: AbortSignal.timeout(60_000),
    })
  const plain = await ask(false)
  const answer = (await plain.json()) as { choices?: { message: { content: string } }[] }
  expect(answer).toMatchObject({ choices: [{ message: { content: story } }] })
  const streamed = await (await ask(true)).text()
  expect(streamed).toEndWith('data: [DONE]\n\n')
}
