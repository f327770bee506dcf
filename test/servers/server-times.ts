/**
 * Stands in front of a model server and measures how long the server itself takes to the first
 * text of each answer: what a client waits beyond that passes between the two.
 */
import { connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { childEnvironment, endWithParent } from '@privatemode/service/end-with-parent'

/** How long the first text of the answer to the prompt with this number took. */
export type ServerTime = { readonly asked: number; readonly ms: number }

/** No two prompts begin with the same number. */
export const promptOf = (asked: number) =>
  `${asked} is where you start. Count to one hundred and twenty.`
const numberInPrompt = /"(\d+) is where you start/
export const firstText = /"content":"[^"]/
const newsWithinMs = 10_000

/** Only one request at a time is on a connection. */
function watch(client: Socket, server: Socket, tell: (time: ServerTime) => void): void {
  let startedMs = 0
  let request = ''
  let answer: string | undefined
  client.on('data', (bytes) => {
    server.write(bytes)
    const text = bytes.toString('latin1')
    if (/^(GET|POST) /.test(text)) [startedMs, request, answer] = [performance.now(), '', '']
    request += text
  })
  server.on('data', (bytes) => {
    client.write(bytes)
    if (answer === undefined) return
    answer += bytes.toString('latin1')
    if (!firstText.test(answer)) return
    answer = undefined
    const asked = numberInPrompt.exec(request)?.[1]
    if (asked !== undefined) tell({ asked: Number(asked), ms: performance.now() - startedMs })
  })
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.setNoDelay(true)
    one.on('end', () => other.end())
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}

export class ServerTimes {
  readonly #child: Bun.Subprocess
  readonly #times = new Map<number, PromiseWithResolvers<number>>()
  readonly #listening = Promise.withResolvers<string>()

  /** A process of its own, on the processors of the server. */
  constructor(serverUrl: string, processors: string) {
    const { hostname, port } = new URL(serverUrl)
    const command = [process.execPath, fileURLToPath(import.meta.url), hostname, port || '80']
    this.#child = Bun.spawn(['taskset', '-c', processors, ...command], {
      ...{ stdout: 'inherit', stderr: 'inherit', env: childEnvironment(process.env) },
      ipc: (message: ServerTime | { readonly port: number }) => {
        if ('port' in message) this.#listening.resolve(`http://127.0.0.1:${message.port}`)
        else this.#timeOf(message.asked).resolve(message.ms)
      },
      onExit: () => this.#listening.reject(new Error('what measures the server has ended')),
    })
  }

  /** Where the server is reached. */
  get url(): Promise<string> {
    return this.#listening.promise
  }

  /** Milliseconds to the first text; the news of a short answer may come after its end. */
  async take(asked: number): Promise<number> {
    const late = setTimeout(
      () => this.#timeOf(asked).reject(new Error('an answer did not come from the server')),
      newsWithinMs,
    )
    try {
      return await this.#timeOf(asked).promise
    } finally {
      clearTimeout(late)
      this.#times.delete(asked)
    }
  }

  #timeOf(asked: number): PromiseWithResolvers<number> {
    const known = this.#times.get(asked) ?? Promise.withResolvers<number>()
    this.#times.set(asked, known)
    return known
  }

  async stop(): Promise<void> {
    this.#child.kill()
    await this.#child.exited
  }
}

if (import.meta.main) {
  endWithParent()
  const [host = '', port] = process.argv.slice(2)
  const tell = (message: unknown) => process.send?.(message)
  const listener = createServer((client) =>
    watch(client, connect({ host, port: Number(port) }), tell),
  )
  listener.listen(0, '127.0.0.1', () => tell(listener.address()))
}
