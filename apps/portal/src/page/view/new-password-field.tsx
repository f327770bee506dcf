/** The field for a new password: the only place that states the required length. */
import { Field } from './field.tsx'

const minLength = 12

type NewPasswordFieldProps = {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  /** Appended to the required length. */
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
