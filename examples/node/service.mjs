// A service: one verified connection for its life, sealed answers streamed to whoever asks it.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Privatemode, PrivatemodeError } from '@privatemode/sdk'
import { acceptSoftware } from '@privatemode/sdk/software'
import { fileStorage } from './file-storage.mjs'

const home = process.env.PRIVATEMODE_HOME ?? '../../.privatemode'
const { endpoint, logKey, softwareRoot } = JSON.parse(readFileSync(`${home}/client.json`, 'utf8'))

// A service that cannot verify its backend does not start; workers that change later are verified anew.
const pm = await Privatemode.connect({
  apiKey: readFileSync(`${home}/api-key`, 'utf8').trim(),
  endpoint,
  manifest: { logKey },
  software: acceptSoftware(softwareRoot), // your own machine protects nothing; production leaves this out
  storage: await fileStorage(process.env.PRIVATEMODE_STATE ?? 'state'),
  onEvent: (event) => console.log(JSON.stringify(event)), // never holds content
})
const models = await pm.models.list()
const model = models.find(({ tasks }) => tasks.includes('generate'))?.id ?? ''

const server = createServer(async (request, response) => {
  const gone = new AbortController() // a caller who goes away stops the generation
  response.on('close', () => gone.abort())
  try {
    const messages = [{ role: 'user', content: await readBody(request) }]
    const stream = await pm.chat.stream({ model, messages }, { signal: gone.signal })
    for await (const chunk of stream) response.write(chunk.choices[0]?.delta.content ?? '')
    response.end()
  } catch (error) {
    if (gone.signal.aborted) return
    // An answer that was cut must not look like a short one.
    if (response.headersSent) return response.destroy()
    const { status = 500, code = 'internal_error' } = error instanceof PrivatemodeError ? error : {}
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ code }))
  }
})
server.listen(Number(process.env.PORT ?? 8091), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`)
})
process.once('SIGTERM', () => server.close()) // what was begun is finished

async function readBody(request) {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) {
    text += piece
    if (text.length > 100_000) {
      throw new PrivatemodeError('request_too_large', 'over 100 kB', {
        retryable: false,
        status: 413,
      })
    }
  }
  return text
}
