// A route of a Next.js app on its edge runtime. Whoever runs it reads prompts: for servers you trust.
import { Privatemode } from '@privatemode/sdk'

export const runtime = 'edge'

/** One connection per isolate; what failed is tried again with the next call. */
let connecting

function connected() {
  connecting ??= connect().catch((error) => {
    connecting = undefined
    throw error
  })
  return connecting
}

async function connect() {
  const options = {
    apiKey: process.env.PRIVATEMODE_API_KEY ?? '',
    endpoint: process.env.PRIVATEMODE_ENDPOINT ?? '',
    manifest: { logKey: process.env.PRIVATEMODE_LOG_KEY ?? '' },
  }
  // Replaced at build time: without a root, the build has no software verifier in it.
  if (!process.env.PRIVATEMODE_SOFTWARE_ROOT) return Privatemode.connect(options)
  const { acceptSoftware } = await import('@privatemode/sdk/software')
  const software = acceptSoftware(process.env.PRIVATEMODE_SOFTWARE_ROOT)
  return Privatemode.connect({ ...options, software })
}

/** Takes a chat completion request and answers as the API does; with `stream` its body streams. */
export async function POST(request) {
  try {
    const pm = await connected()
    const { signal } = request
    const body = await request.text()
    return await pm.fetch(`${pm.baseURL}/chat/completions`, { method: 'POST', body, signal })
  } catch (error) {
    return Response.json({ error: { code: error.code ?? error.name } }, { status: 502 })
  }
}
