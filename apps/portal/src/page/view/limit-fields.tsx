/** Fields for the four limits; an empty one means unlimited. */
import type { Limits } from '@privatemode/protocol/fleet'
import { type LimitNumbers, limitNames } from '../../words/format-limits.ts'
import { Field } from './field.tsx'

export type LimitTexts = Record<keyof LimitNumbers, string>

type LimitFieldsProps = {
  readonly limits: LimitTexts
  readonly onLimits: (limits: LimitTexts) => void
}

export function LimitFields({ limits, onLimits }: LimitFieldsProps) {
  return (
    <div class="pair">
      {limitNames.map(([field, label]) => (
        <Field
          key={field}
          label={label}
          type="number"
          min="0"
          placeholder="no limit"
          sayOptional={false}
          value={limits[field]}
          onValue={(value) => onLimits({ ...limits, [field]: value })}
        />
      ))}
    </div>
  )
}

export function limitTexts(limits: Limits | undefined): LimitTexts {
  const text = (field: keyof LimitNumbers) => limits?.[field]?.toString() ?? ''
  return {
    requests_per_minute: text('requests_per_minute'),
    tokens_per_minute: text('tokens_per_minute'),
    tokens_per_month: text('tokens_per_month'),
    concurrent_streams: text('concurrent_streams'),
  }
}

export function limitNumbers(texts: LimitTexts): LimitNumbers {
  return {
    requests_per_minute: numberOrNone(texts.requests_per_minute),
    tokens_per_minute: numberOrNone(texts.tokens_per_minute),
    tokens_per_month: numberOrNone(texts.tokens_per_month),
    concurrent_streams: numberOrNone(texts.concurrent_streams),
  }
}

export const numberOrNone = (text: string): number | null =>
  text.trim() === '' ? null : Number(text)
