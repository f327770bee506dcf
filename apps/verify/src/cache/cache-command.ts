/** `cache`: checks whether a running endpoint isolates the prompt caches of different salts. */
import { readFileSync } from 'node:fs'
import {
  type CanaryReport,
  canaryDefaults,
  type Expectation,
  httpProbe,
  runCanary,
  type Verdict,
} from '@privatemode/sdk/canary'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'
import { formatReport } from './format-report.ts'
import { formatWorkerPaths, readWorkerPaths, type WorkerPath } from './worker-paths.ts'

const options = {
  url: { value: 'URL', help: 'the endpoint, such as http://127.0.0.1:8080' },
  model: { value: 'MODEL', help: 'a model that generates text' },
  'api-key': { value: 'KEY|@FILE', help: 'if the endpoint requires one' },
  'other-api-key': { value: 'KEY|@FILE', help: 'a second key: its requests must find nothing' },
  'no-salt': {
    value: 'apart|shared|either',
    help: 'what requests without a salt must do; apart if unset',
  },
  rounds: { value: 'N', help: `number of rounds; ${canaryDefaults.rounds} if unset` },
  words: {
    value: 'N',
    help: `random words per prompt, about 4 tokens each; ${canaryDefaults.words} if unset`,
  },
  ca: { value: 'FILE', help: 'PEM file of the certificate authority of an HTTPS endpoint' },
  'worker-metrics': {
    value: 'URL',
    help: "a worker's metrics, such as http://127.0.0.1:9100/metrics: shows its own proof for each path",
  },
  json: { help: 'prints the report as one line of JSON' },
} as const

const exitCodes: Readonly<Record<Verdict, number>> = {
  isolates: 0,
  shares: 1,
  'caches-nothing': 3,
  'cannot-tell': 4,
}

export const cacheCommand: Command = {
  summary: 'are prompt caches of different salts kept apart?',
  help: [
    'npm run -s verify -- cache --url URL --model MODEL [options]',
    '',
    formatOptions(options),
    '',
    'Sends pairs of prompts that nobody has sent before, under the same salt, under different ones',
    'and under none, in random order, and compares cached tokens and times to the first token.',
    'Exit code: 0 isolates, 1 shares where it must not, 2 wrong call, 3 caches nothing, 4 cannot tell.',
    'Requests without a salt share by design at a proxyless endpoint and with --sharedPromptCache.',
  ].join('\n'),
  run: async (args, { out, error }) => {
    const given = parseOptions(options, args)
    const ca = given.ca?.[0]
    const trust = ca === undefined ? {} : { tls: { ca: readText(ca) } }
    const target = {
      url: readUrl(required(given.url, 'url')),
      model: required(given.model, 'model'),
      apiKey: readKey(given['api-key']?.[0]),
      otherApiKey: readKey(given['other-api-key']?.[0]),
      fetch: (url: string, init: RequestInit) => fetch(url, { ...init, ...trust }),
    }
    const run = {
      ask: httpProbe(target),
      rounds: readCount('rounds', given.rounds?.[0] ?? String(canaryDefaults.rounds), 1, 200),
      words: readCount('words', given.words?.[0] ?? String(canaryDefaults.words), 25, 20_000),
      noSalt: readExpectation(given['no-salt']?.[0] ?? 'apart'),
      hasOtherKey: target.otherApiKey !== undefined,
    }
    const metricsUrl = given['worker-metrics']?.[0]
    let report: CanaryReport
    let paths: WorkerPath[] | undefined
    try {
      if (metricsUrl !== undefined) paths = await readWorkerPaths(readUrl(metricsUrl))
      report = await runCanary(run)
    } catch (failure) {
      const reason = failure instanceof Error ? failure.message : 'unknown reason'
      if (given.json !== undefined) out(JSON.stringify({ verdict: 'cannot-tell', reason }))
      error(`the probes failed: ${reason}`)
      return exitCodes['cannot-tell']
    }
    const lines = [...formatReport(report), ...formatWorkerPaths(paths)]
    if (given.json === undefined) for (const line of lines) out(line)
    else out(JSON.stringify({ ...report, ...(paths && { worker_paths: paths }) }))
    return exitCodes[report.verdict]
  },
}

function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new UsageError(`--url is ${JSON.stringify(text)}, expected http:// or https://`)
}

/** A key in a file does not appear in the process list. */
function readKey(text: string | undefined): string | undefined {
  return text?.startsWith('@') ? readText(text.slice(1)).trim() : text
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as { code?: string }).code ?? 'unknown'}`)
  }
}

function readCount(name: string, text: string, least: number, most: number): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (count >= least && count <= most) return count
  throw new UsageError(`--${name} is ${JSON.stringify(text)}, expected ${least} to ${most}`)
}

function readExpectation(text: string): Expectation {
  if (text === 'apart' || text === 'shared' || text === 'either') return text
  throw new UsageError(`--no-salt is ${JSON.stringify(text)}, expected apart, shared or either`)
}
