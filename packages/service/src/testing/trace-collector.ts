/** An OpenTelemetry collector for tests: accepts OTLP over HTTP with JSON, on loopback. */
export type CollectedSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, string> }[]
  readonly status?: { readonly code: number }
}

export type TraceCollector = {
  readonly url: string
  /** Everything received, headers and body, as text. */
  readonly received: string[]
  readonly spans: CollectedSpan[]
  status: number
  stop(): Promise<void>
}

type Batch = {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[]
  }[]
}

export function startTraceCollector(): TraceCollector {
  const received: string[] = []
  const spans: CollectedSpan[] = []
  const collector = { status: 200 }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text()
      received.push(`${request.url} ${JSON.stringify([...request.headers])} ${body}`)
      if (collector.status === 200) {
        for (const { scopeSpans } of (JSON.parse(body) as Batch).resourceSpans) {
          for (const scope of scopeSpans) spans.push(...scope.spans)
        }
      }
      return Response.json({}, { status: collector.status })
    },
  })
  return Object.assign(collector, {
    url: `http://127.0.0.1:${server.port}`,
    received,
    spans,
    stop: () => server.stop(true),
  })
}
