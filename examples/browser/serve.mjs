// Serves a folder of examples (this one unless told), the package's browser files, and what a page
// must know. For development only: it hands the API key of the local stack to the page.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const folder = process.argv[2] ?? here
const home = process.env.PRIVATEMODE_HOME ?? join(here, '../../.privatemode')
const sdk = process.env.PRIVATEMODE_SDK ?? join(here, '../../packages/sdk/dist')
const types = { html: 'text/html', js: 'text/javascript', json: 'application/json' }

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  try {
    response.setHeader('content-type', types[pathname.split('.').at(-1)] ?? types.html)
    response.end(read(pathname))
  } catch {
    response.writeHead(404).end()
  }
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/`)
})

function read(pathname) {
  if (pathname === '/') return readFileSync(join(folder, 'index.html'))
  if (pathname === '/client.json') {
    const client = JSON.parse(readFileSync(join(home, 'client.json'), 'utf8'))
    const apiKey = readFileSync(join(home, 'api-key'), 'utf8').trim()
    return JSON.stringify({ ...client, apiKey })
  }
  const [, inPackage, name] = /^\/(privatemode\/)?([\w-]+\.js)$/.exec(pathname) ?? []
  return readFileSync(inPackage ? join(sdk, 'browser', name) : join(folder, name))
}
