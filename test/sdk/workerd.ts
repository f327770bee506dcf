/** workerd, the runtime of Cloudflare Workers: serves one module on a port of this machine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type RunningWorker = { readonly url: string; stop(): Promise<void> }

/** Timers, cross-request promises and web streams behave as of this date. */
const compatibilityDate = '2026-11-01'

/** Starts a worker in the module format; `bindings` become its `env`. */
export async function startWorkerd(
  program: string,
  script: string,
  bindings: Readonly<Record<string, string>>,
): Promise<RunningWorker> {
  const folder = mkdtempSync(join(tmpdir(), 'privatemode-workerd-'))
  writeFileSync(join(folder, 'worker.js'), script)
  writeFileSync(join(folder, 'config.capnp'), formatConfig(bindings))
  const child = Bun.spawn([program, 'serve', '--control-fd=1', join(folder, 'config.capnp')], {
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const said = new Response(child.stderr).text()
  const stop = async () => {
    child.kill()
    await child.exited
    rmSync(folder, { recursive: true, force: true })
  }
  const port = await readPort(child.stdout)
  if (port !== undefined) return { url: `http://127.0.0.1:${port}/`, stop }
  await stop()
  throw new Error(`workerd did not start: ${await said}`)
}

/** The port that it reports on its control channel, or undefined if it ends before. */
async function readPort(control: ReadableStream<Uint8Array>): Promise<number | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of control) {
    text += decoder.decode(bytes, { stream: true })
    const port = /"event":"listen".*"port":(\d+)/.exec(text)?.[1]
    if (port !== undefined) return Number(port)
  }
  return undefined
}

/** Without `nodejs_compat`: the package must do with the web platform. */
const formatConfig = (bindings: Readonly<Record<string, string>>) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ( name = "main",
      worker = (
        modules = [ ( name = "worker.js", esModule = embed "worker.js" ) ],
        compatibilityDate = "${compatibilityDate}",
        bindings = [ ${Object.entries(bindings)
          .map(([name, text]) => `( name = "${name}", text = ${JSON.stringify(text)} )`)
          .join(', ')} ],
        globalOutbound = "outside" ) ),
    ( name = "outside", network = ( allow = ["local"] ) ) ],
  sockets = [ ( name = "http", address = "127.0.0.1:0", http = (), service = "main" ) ] );
`
