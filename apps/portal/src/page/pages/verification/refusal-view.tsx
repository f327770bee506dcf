/** A failed verification: at which step, why, and every check up to it. */
import { describeFailure } from '../../../words/describe-failure.ts'
import { explainRefusal } from '../../../words/explain-refusal.ts'
import type { Connection } from '../../trust/connection.ts'
import { Moment } from '../../view/moment.tsx'
import { ChainPicture } from './chain-picture.tsx'
import { Checks, type ShownCheck } from './checks.tsx'

type Refusal = {
  readonly code?: string
  readonly refusal?: string
  readonly checks?: readonly ShownCheck[]
}

type RefusalViewProps = { readonly current: Extract<Connection, { kind: 'refused' }> }

export function RefusalView({ current }: RefusalViewProps) {
  const { error, at } = current
  const { code = 'unknown', refusal, checks = [] } = error as Refusal
  const isMistyped = code === 'log_key_mistyped'
  const { meaning, next } = explainRefusal(refusal, code)
  return (
    <>
      <section class={`verdict ${isMistyped ? 'warn' : 'bad'}`} role="alert" data-verdict="refused">
        <h2>{isMistyped ? 'Not verified: check the key' : 'Not verified'}</h2>
        <p>{meaning}</p>
        <p>{next}</p>
        <p class="soft">
          <code>{refusal ?? code}</code>: {describeFailure(error).reason}. In this browser,{' '}
          <Moment iso={at.toISOString()} />
        </p>
      </section>
      <ChainPicture current={current} />
      {checks.length > 0 && (
        <section class="card" aria-labelledby="failed-checks">
          <h2 id="failed-checks">Checks up to the refusal</h2>
          <Checks checks={checks} />
        </section>
      )}
    </>
  )
}
