/** Steady traffic through proxies that counts every incomplete answer. */

export type Traffic = {
  /** Adds clients of this proxy, streaming and not. */
  through(proxyUrl: string): void
  /** Waits until each proxy has answered this many more requests. */
  served(more: number): Promise<void>
  stop(): Promise<{ readonly lost: readonly string[]; readonly count: number }>
}

const clientsOfEach = 3

export function startTraffic(): Traffic {
  const lost: string[] = []
  const counts = new Map<string, number>()
  const clients: Promise<void>[] = []
  let stopped = false

  async function client(url: string, stream: boolean): Promise<void> {
    while (!stopped) {
      const fault = await ask(url, stream).catch((error) => `no answer: ${error}`)
      if (fault !== undefined) lost.push(`request ${counts.get(url)} of ${url}: ${fault}`)
      counts.set(url, (counts.get(url) ?? 0) + 1)
    }
  }

  return {
    through(url) {
      counts.set(url, 0)
      for (let index = 0; index < clientsOfEach; index++) clients.push(client(url, index % 2 === 0))
    },
    async served(more) {
      const goals = [...counts].map(([url, count]) => [url, count + more] as const)
      while (!goals.every(([url, goal]) => (counts.get(url) ?? 0) >= goal)) await Bun.sleep(20)
    },
    async stop() {
      stopped = true
      await Promise.all(clients)
      return { lost, count: [...counts.values()].reduce((sum, count) => sum + count, 0) }
    },
  }
}

/** What was wrong with the answer, or nothing. */
async function ask(url: string, stream: boolean): Promise<string | undefined> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'org/chat-1',
      stream,
      messages: [{ role: 'user', content: '[[pace 5]] [[words 20]]' }],
    }),
    signal: AbortSignal.timeout(40_000),
  })
  const text = await response.text()
  if (response.status !== 200) return `${response.status} ${text.slice(0, 200)}`
  if (stream) return text.endsWith('data: [DONE]\n\n') ? undefined : 'the stream was cut'
  return JSON.parse(text).choices[0].finish_reason === 'stop' ? undefined : 'not finished'
}
