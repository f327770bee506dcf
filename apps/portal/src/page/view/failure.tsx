/** Shows what went wrong and what to do next. */
import type { ComponentChildren } from 'preact'
import { describeFailure } from '../../words/describe-failure.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

type FailureProps = {
  readonly error: unknown
  /** What failed, such as "The keys could not be loaded". */
  readonly what: string
  readonly onRetry?: () => void
  /** What to do next, if the page knows better than the error code indicates. */
  readonly advice?: ComponentChildren
}

export function Failure({ error, what, onRetry, advice }: FailureProps) {
  const { reason, next } = describeFailure(error)
  return (
    <Notice kind="bad" title={`${what}: ${reason}.`} urgent>
      <p>{advice ?? next}</p>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </Notice>
  )
}
