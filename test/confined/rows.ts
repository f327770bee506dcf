/** Claims, checked one after the other: each row reports what was observed, or fails. */
export type Row = {
  readonly name: string
  readonly result: 'yes' | 'NO'
  readonly detail: string
  readonly seconds: number
}

export class Rows {
  readonly all: Row[] = []
  /** Called after a failure, for what helps to understand it. */
  readonly #explain: () => Promise<string>

  constructor(explain: () => Promise<string>) {
    this.#explain = explain
  }

  async try(name: string, run: () => Promise<string>): Promise<boolean> {
    const started = performance.now()
    console.log(`    ${name} …`)
    const seen = await run().then(
      (detail) => ({ result: 'yes' as const, detail }),
      (error) => ({ result: 'NO' as const, detail: String(error?.message ?? error) }),
    )
    const seconds = (performance.now() - started) / 1000
    this.all.push({ name, ...seen, seconds })
    console.log(`${seen.result.padEnd(3)} ${name} (${seconds.toFixed(1)} s): ${seen.detail}`)
    if (seen.result === 'NO') console.log(await this.#explain().catch((error) => `${error}`))
    return seen.result === 'yes'
  }
}

export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message)
}

export function formatRows(rows: readonly Row[]): string {
  const cell = (text: string) => (text.split('\n')[0] ?? '').replaceAll('|', '\\|').slice(0, 300)
  const lines = rows.map(({ name, result, detail }) => `| ${name} | ${result} | ${cell(detail)} |`)
  return ['| claim | holds | seen |', '|---|---|---|', ...lines, ''].join('\n')
}
