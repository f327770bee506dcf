/**
 * Stands in for vLLM in a cluster without memory for it: `vllm serve MODEL --host=… --port=… --served-model-name=NAME`.
 * It answers what the message orders. The same file is the `python3` of the probe.
 */
import { startScriptedServer } from '../../packages/inference/src/testing/scripted-server.ts'

const args = process.argv.slice(2)
if (args[0] === '-c') await probe(args[1] ?? '')
else serve()

function serve(): void {
  const value = (name: string) =>
    args.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3)
  const name = value('served-model-name') ?? 'scripted'
  const isEmbedding = name.includes('embed')
  startScriptedServer(
    { models: [name], version: '0.32.0', ...(isEmbedding ? { embedModels: [name] } : {}) },
    { port: Number(value('port')) },
  )
  console.log(`a stand-in for vLLM serves ${name}: ${args.join(' ')}`)
  process.on('SIGTERM', () => process.exit(0))
}

/** The chart's probe is a line of Python that reads one address. */
async function probe(code: string): Promise<never> {
  const url = /urlopen\('([^']+)'/.exec(code)?.[1]
  if (url === undefined) throw new Error(`not the probe of the chart: ${code}`)
  process.exit((await fetch(url).catch(() => undefined))?.ok ? 0 : 1)
}
