/** `docs/metrics.md`: what each program measures, from the registries that it serves. */
import { createGatewayMetrics, gatewayGauges } from '../apps/gateway/src/metrics/gateway-metrics.ts'
import { createProxyMetrics } from '../apps/proxy/src/proxy-metrics.ts'
import { createWorkerMetrics, workerGauges } from '../apps/worker/src/metrics/worker-metrics.ts'

export function formatMetrics(): string {
  const gateway = createGatewayMetrics()
  for (const name of keysOf(gatewayGauges)) gateway.gauge(name, () => 0)
  const worker = createWorkerMetrics([])
  for (const name of keysOf(workerGauges)) worker.gauge(name, () => 0)
  worker.gaugeIsolation(() => [])
  const none = () => 0
  const proxy = createProxyMetrics({
    ...{ openRequests: none, verifiedWorkers: none, logSignedAt: none, usableUntil: none },
    ready: () => false,
  })
  return `# Metrics

Every metric that the programs serve at \`/metrics\`, in Prometheus' format. Labels come from closed sets: no metric contains a key, a
prompt, or a name chosen by a client. [Operations](operations.md#metrics-and-alerts) says how to scrape them and lists the alerts.
\`npm run docs\` generates this page from the help texts.

## Gateway

${formatTable(gateway.format())}
## Worker

${formatTable(worker.format())}
## Proxy

With \`--workers\`, counters are summed over all processes, and \`privatemode_proxy_processes\` is their number.

${formatTable(proxy.registry.format())}`
}

function keysOf<Name extends string>(table: Readonly<Record<Name, string>>): Name[] {
  return Object.keys(table) as Name[]
}

/** One row per metric of a registry, in Prometheus' text format. */
function formatTable(text: string): string {
  const described = text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)
  const rows = [...described].map(
    ([, name, help, kind]) => `| \`${name}\` | ${kind} | ${help?.replace(/\.$/, '')} |`,
  )
  return `| Metric | Kind | Meaning |\n|---|---|---|\n${rows.join('\n')}\n`
}
