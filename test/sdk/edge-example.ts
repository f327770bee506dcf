/** The examples for the edge: the Next.js route in the runtime of Next.js, and the worker in workerd. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type InstalledPackage, run } from './packed-package.ts'

const route = fileURLToPath(
  new URL('../../examples/next-edge/app/api/chat/route.js', import.meta.url),
)
const worker = fileURLToPath(new URL('../../examples/edge/worker.js', import.meta.url))

/** Bundles the route for a realm without modules, and gives the script. */
export async function bundleRoute(installed: InstalledPackage): Promise<string> {
  const entry = join(installed.project, 'edge-entry.js')
  await Bun.write(entry, `import { POST } from ${JSON.stringify(route)}\nglobalThis.POST = POST\n`)
  return bundleExample(installed, entry, 'iife')
}

/** Bundles the worker into one module. */
export const bundleWorker = (installed: InstalledPackage): Promise<string> =>
  bundleExample(installed, worker, 'esm')

async function bundleExample(
  installed: InstalledPackage,
  entry: string,
  format: 'iife' | 'esm',
): Promise<string> {
  const built = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    format,
    plugins: [
      {
        name: 'installed package',
        setup(build) {
          build.onResolve({ filter: /^@privatemode\/sdk/ }, ({ path }) => ({
            path: Bun.resolveSync(path, installed.project),
          }))
        },
      },
    ],
  })
  return (await built.outputs[0]?.text()) ?? ''
}

/** Makes one request to the route inside the runtime; gives its status, the number of its pieces, and its text. */
export async function askRoute(
  installed: InstalledPackage,
  vmPath: string,
  script: string,
  env: Readonly<Record<string, string>>,
  body: object,
): Promise<{ status: number; pieces: number; text: string }> {
  const { project } = installed
  await Bun.write(join(project, 'edge-script.js'), script)
  await Bun.write(join(project, 'run-edge.mjs'), runner(vmPath))
  const given = { EDGE_ENV: JSON.stringify(env), EDGE_BODY: JSON.stringify(body) }
  const { output } = await run(['node', 'run-edge.mjs'], project, given)
  const line = output.split('\n').find((text) => text.startsWith('{"status"'))
  if (line === undefined) throw new Error(`the runtime said: ${output}`)
  return JSON.parse(line)
}

const runner = (vmPath: string) => `
import { readFileSync } from 'node:fs'
import { EdgeVM } from ${JSON.stringify(vmPath)}
const env = JSON.parse(process.env.EDGE_ENV)
const extend = (context) => Object.assign(context, { process: { env } })
const edge = new EdgeVM({ extend })
edge.evaluate(readFileSync('edge-script.js', 'utf8'))
const answered = await edge.evaluate(\`(async () => {
  const body = \${JSON.stringify(process.env.EDGE_BODY)}
  const request = new Request('http://edge.example/api/chat', { method: 'POST', body })
  const response = await POST(request)
  const decoder = new TextDecoder()
  let text = ''
  let pieces = 0
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true })
    pieces += 1
  }
  return JSON.stringify({ status: response.status, pieces, text })
})()\`)
console.log('\\n' + answered)
process.exit(0)
`
