/** The figures of one suite, and what failed in it. */

export type Failure = { readonly test: string; readonly reason: string }

export type SuiteResult = {
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
}

export function formatResult(name: string, result: SuiteResult, verbose: boolean): string {
  const { passed, skipped, failures } = result
  const head = `${name}: ${passed} passed, ${failures.length} failed, ${skipped} skipped`
  const lines = failures.map(({ test, reason }) =>
    verbose ? `  ${test}\n    ${reason}` : `  ${test}`,
  )
  return [head, ...lines].join('\n')
}
