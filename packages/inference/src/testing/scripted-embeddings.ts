/** The scripted model server's embeddings: the same numbers for the same text, and one token each. */
import type { JsonObject } from '../engine.ts'
import { wait } from './scripted-reply.ts'

export async function embed(
  { input }: JsonObject,
  msPerText: number,
  signal: AbortSignal,
): Promise<Response> {
  const texts = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
  await wait(texts.length * msPerText, signal)
  const data = texts.map((text, index) => {
    const sum = [...String(text)].reduce((total, char) => total + (char.codePointAt(0) ?? 0), 0)
    return { index, object: 'embedding', embedding: [Math.sin(sum), Math.cos(sum), 0, 0.5] }
  })
  const count = texts.length
  return Response.json({ data, usage: { prompt_tokens: count, total_tokens: count } })
}
