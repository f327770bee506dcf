export function explainSkipped(output: string): {
  readonly lines: string[]
  readonly unexplained: string[]
  readonly count: number
}
