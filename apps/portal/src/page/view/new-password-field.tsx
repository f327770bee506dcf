/** The field for a password that is set: how long it must be stands here alone. */
import { Field } from './field.tsx'

const minLength = 12

type NewPasswordFieldProps = {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  /** Said behind how long it must be. */
  readonly hint: string
}

export function NewPasswordField({ hint, ...rest }: NewPasswordFieldProps) {
  return (
    <Field
      {...rest}
      type="password"
      autocomplete="new-password"
      required
      minLength={minLength}
      maxLength={256}
      hint={`At least ${minLength} characters. ${hint}`}
    />
  )
}
