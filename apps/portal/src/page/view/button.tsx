/** Buttons: primary, plain and destructive ones. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

type ButtonProps = {
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet'
  readonly type?: 'button' | 'submit'
  readonly icon?: IconName
  /** Shows that it is working, and accepts no second click. */
  readonly busy?: boolean
  readonly disabled?: boolean
  readonly label?: string
  readonly onClick?: () => void
  readonly children?: ComponentChildren
}

export function Button({ kind = 'plain', type = 'button', icon, busy, ...props }: ButtonProps) {
  return (
    <button
      type={type}
      class={`button ${kind}`}
      aria-busy={busy ? 'true' : undefined}
      aria-label={props.label}
      disabled={props.disabled || busy}
      onClick={props.onClick}
    >
      {icon !== undefined && <Icon name={icon} />}
      {props.children !== undefined && <span>{props.children}</span>}
    </button>
  )
}
