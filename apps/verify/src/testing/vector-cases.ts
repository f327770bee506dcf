/** Evidence from real hardware, and the expected verdict for each piece. */
import { readFileSync } from 'node:fs'
import type { AttestationErrorCode } from '@privatemode/attestation'

export type VectorCase = {
  readonly type: 'snp' | 'tdx' | 'nvidia-gpu'
  readonly file: string
  /** Pairs of option and path. */
  readonly given: readonly (readonly [string, string])[]
  readonly at: string
  /** Why it is refused; null if it is authentic. */
  readonly code: AttestationErrorCode | null
  readonly because: string
}

const table = new URL('../../../../test/vectors/evidence-verdicts.json', import.meta.url)

export const vectorCases: readonly VectorCase[] = JSON.parse(readFileSync(table, 'utf8'))

/** The command line of a case, with paths below `folder`. */
export const argumentsOf = ({ type, file, given, at }: VectorCase, folder: string): string[] => [
  ...['--type', type, '--file', `${folder}/${file}`, '--at', at],
  ...given.flatMap(([option, path]) => [`--${option}`, `${folder}/${path}`]),
]

/** The table of `docs/attestation.md`. */
export function formatVectorTable(): string {
  const rows = vectorCases.map(({ type, file, given, at, code, because }) => {
    const beside = given.map(([, path]) => path.split('/').at(-1)).join(', ') || 'nothing'
    const verdict = code === null ? '**authentic**' : `\`${code}\``
    const shown = file.slice(file.indexOf('/') + 1)
    return `| ${type} | ${shown} | ${beside} | ${at.slice(0, 10)} | ${verdict} | ${because} |`
  })
  const head = ['| kind | evidence | with | at | verdict | why |', '|---|---|---|---|---|---|']
  return [...head, ...rows].join('\n')
}
