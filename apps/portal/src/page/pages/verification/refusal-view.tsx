/** A verification that failed: at which step, why, and every check up to it. */
import { describeFailure } from '../../../words/describe-failure.ts'
import { explainRefusal } from '../../../words/explain-refusal.ts'
import { Moment } from '../../view/moment.tsx'
import { Checks, type ShownCheck } from './checks.tsx'
import { Steps } from './steps.tsx'

type Refusal = {
  readonly code?: string
  readonly refusal?: string
  readonly checks?: readonly ShownCheck[]
}

export function RefusalView({ error, at }: { readonly error: unknown; readonly at: Date }) {
  const { code = 'unknown', refusal, checks = [] } = error as Refusal
  const { step, meaning, next } = explainRefusal(refusal, code)
  return (
    <>
      <section class="verdict bad" role="alert" data-verdict="refused">
        <h2>Not verified</h2>
        <p>{meaning}</p>
        <p>{next}</p>
        <p class="soft">
          <code>{refusal ?? code}</code>: {describeFailure(error).reason}. In this browser,{' '}
          <Moment iso={at.toISOString()} />
        </p>
      </section>
      <Steps reached={step === 'network' ? 'none' : step} />
      {checks.length > 0 && (
        <section class="card" aria-labelledby="failed-checks">
          <h2 id="failed-checks">Checks up to the refusal</h2>
          <Checks checks={checks} />
        </section>
      )}
    </>
  )
}
