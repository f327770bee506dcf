/** A list of checks with their results. */
import { Icon } from '../../view/icon.tsx'

export type ShownCheck = {
  readonly id: string
  readonly result: 'passed' | 'failed' | 'skipped'
  readonly detail: string
  /** Distinguishes the same check made on several machines. */
  readonly key?: string
}

const results = {
  passed: { icon: 'check', kind: 'good' },
  failed: { icon: 'cross', kind: 'bad' },
  skipped: { icon: 'dash', kind: 'open' },
} as const

type ChecksProps = { readonly checks: readonly ShownCheck[]; readonly open?: boolean }

export function Checks({ checks, open }: ChecksProps) {
  const passed = checks.filter(({ result }) => result === 'passed').length
  // On a phone, many identical lines would hide what comes after them.
  const roomy = passed < checks.length || matchMedia('(min-width: 48rem)').matches
  return (
    <details class="checks" open={open ?? roomy}>
      <summary>
        {passed} of {checks.length} checks passed
      </summary>
      <CheckList checks={checks} />
    </details>
  )
}

export const CheckList = ({ checks }: Pick<ChecksProps, 'checks'>) => (
  <ul class="check-list">
    {checks.map(({ id, result, detail, key = id }) => (
      <li key={key} class={results[result].kind}>
        <Icon name={results[result].icon} />
        <div>
          <p>
            <code>{id}</code> <span class="result">{result}</span>
          </p>
          <p class="soft">{detail}</p>
        </div>
      </li>
    ))}
  </ul>
)
