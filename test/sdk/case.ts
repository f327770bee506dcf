/** A case of the suite: plain code with plain assertions, because no test runner runs everywhere. */

/** Where the stack is, and what it stands for. */
export type SuiteConfig = {
  readonly endpoint: string
  readonly apiKey: string
  readonly logKey: string
  readonly softwareRoot: string
  readonly model: string
}

export type Case = { readonly name: string; readonly run: (config: SuiteConfig) => Promise<void> }
export type Outcome = { readonly name: string; readonly failure?: string }

/** Runs every case and reports what failed; throws nothing. */
export async function runCases(all: readonly Case[], config: SuiteConfig): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { name, run } of all) {
    try {
      await run(config)
      outcomes.push({ name })
    } catch (error) {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
      outcomes.push({ name, failure: text })
    }
  }
  return outcomes
}

export function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`expected: ${what}`)
}

export function equal<T>(seen: T, expected: T): void {
  if (seen === expected) return
  throw new Error(`saw ${JSON.stringify(seen)}, expected ${JSON.stringify(expected)}`)
}

export async function fails(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('expected a failure')
}
