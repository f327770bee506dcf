/** Sums the metrics of several processes, given in Prometheus' text format as our registry writes it. */
type Family = { readonly head: string[]; kind: string; readonly samples: Map<string, number> }

export class MetricsSum {
  readonly #least: ReadonlySet<string>
  readonly #families = new Map<string, Family>()

  /** Gauges in `least` take the minimum; everything else is summed. */
  constructor(least: Iterable<string>) {
    this.#least = new Set(least)
  }

  add(text: string): void {
    this.#take(text, () => true)
  }

  /** Adds only monotonic metrics: for exited processes, whose gauges no longer mean anything. */
  addCounted(text: string): void {
    this.#take(text, (family) => family.kind !== 'gauge')
  }

  format(): string {
    let text = ''
    for (const { head, samples } of this.#families.values()) {
      text += `${head.join('\n')}\n`
      for (const [series, value] of samples) text += `${series} ${value}\n`
    }
    return text
  }

  /** A family's samples follow its two description lines. */
  #take(text: string, wanted: (family: Family) => boolean): void {
    let family: Family | undefined
    let name = ''
    for (const line of text.split('\n')) {
      const [, about, described = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
      if (about !== undefined) {
        name = described
        family = this.#familyOf(name)
        if (about === 'TYPE') family.kind = rest
        if (family.head.length < 2) family.head.push(line)
      } else if (family !== undefined && line !== '' && wanted(family)) {
        const split = line.lastIndexOf(' ')
        this.#note(family, name, line.slice(0, split), Number(line.slice(split + 1)))
      }
    }
  }

  #familyOf(name: string): Family {
    const known = this.#families.get(name)
    if (known !== undefined) return known
    const family: Family = { head: [], kind: 'untyped', samples: new Map() }
    this.#families.set(name, family)
    return family
  }

  #note({ samples }: Family, name: string, series: string, value: number): void {
    const before = samples.get(series)
    if (before === undefined) samples.set(series, value)
    else samples.set(series, this.#least.has(name) ? Math.min(before, value) : before + value)
  }
}
