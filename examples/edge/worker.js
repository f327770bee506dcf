// A worker at the edge in the module format of Cloudflare and others: answers a question, streamed.
// Whoever runs it reads prompts: for servers you trust.
import { PrivatemodeOpenAI } from '@privatemode/sdk/openai'

/** One client per isolate: the backend is verified with the first question. */
let client

// biome-ignore lint/style/noDefaultExport: the format asks for it
export default {
  async fetch(request, env) {
    client ??= new PrivatemodeOpenAI({
      apiKey: env.PRIVATEMODE_API_KEY,
      endpoint: env.PRIVATEMODE_ENDPOINT,
      manifest: { logKey: env.PRIVATEMODE_LOG_KEY },
    })
    const stream = await client.chat.completions.create(
      {
        model: env.PRIVATEMODE_MODEL,
        messages: [{ role: 'user', content: await request.text() }],
        stream: true,
      },
      { signal: request.signal },
    )
    return new Response(stream.toReadableStream())
  },
}
