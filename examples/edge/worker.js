// A worker at the edge in the module format of Cloudflare and others: answers a question, streamed.
// Whoever runs it reads prompts: for servers you trust.
import { PrivatemodeOpenAI } from '@privatemode/sdk/openai'

/** One client per isolate: the backend is verified with the first question. */
let client

async function connect(env) {
  const { PRIVATEMODE_SOFTWARE_ROOT: root } = env
  const software = root && (await import('@privatemode/sdk/software')).acceptSoftware(root)
  return new PrivatemodeOpenAI({
    apiKey: env.PRIVATEMODE_API_KEY,
    endpoint: env.PRIVATEMODE_ENDPOINT,
    manifest: { logKey: env.PRIVATEMODE_LOG_KEY },
    // For trials only: without a root, software evidence is refused.
    ...(software && { software }),
  })
}

// biome-ignore lint/style/noDefaultExport: the format asks for it
export default {
  async fetch(request, env, context) {
    client ??= await connect(env)
    try {
      const asked = client.chat.completions.create(
        {
          model: env.PRIVATEMODE_MODEL,
          messages: [{ role: 'user', content: await request.text() }],
          stream: true,
        },
        { signal: request.signal },
      )
      const { data: stream, response } = await asked.withResponse()
      // The padding that hides the answer's length goes on behind it; a worker that ended would cut it.
      const receipt = (await client.verified()).receiptOf(response)
      context.waitUntil(receipt.catch(() => {}))
      return new Response(stream.toReadableStream())
    } catch (error) {
      return Response.json({ error: { code: error.code ?? error.name } }, { status: 502 })
    }
  },
}
