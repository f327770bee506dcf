/** Form fields: a label, an input, and its hint. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type FieldProps = {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly value: string
  readonly onValue: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'number' | 'date'
  readonly autocomplete?: string
  readonly required?: boolean
  readonly minLength?: number
  readonly maxLength?: number
  readonly min?: string
  readonly pattern?: string
  readonly inputMode?: 'decimal'
  readonly placeholder?: string
  readonly focused?: boolean
  /** Whether to mark it as optional, if it is. */
  readonly sayOptional?: boolean
}

export function Field({ label, hint, value, onValue, ...rest }: FieldProps) {
  const { focused = false, sayOptional = true, ...input } = rest
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        {label}
        {sayOptional && input.required !== true && <span class="optional"> optional</span>}
      </label>
      <input
        {...input}
        // The types distinguish inputs by `type`; all of ours accept the same attributes.
        type={(input.type ?? 'text') as 'text'}
        id={id}
        value={value}
        autofocus={focused}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

type ChoiceProps<T extends string> = {
  readonly label: string
  readonly hint?: string
  readonly value: T
  readonly options: readonly (readonly [T, string])[]
  readonly onValue: (value: T) => void
  readonly disabled?: boolean
  /** Only screen readers need the label: the selection is self-explanatory. */
  readonly quiet?: boolean
}

export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { label, hint, value, options, onValue, disabled = false, quiet = false } = props
  const id = useId()
  return (
    <div class="field">
      <label for={id} class={quiet ? 'hidden' : undefined}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onValue(event.currentTarget.value as T)}
      >
        {options.map(([name, text]) => (
          <option key={name} value={name} selected={name === value}>
            {text}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
