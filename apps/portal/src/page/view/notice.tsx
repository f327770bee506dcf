/** A short highlighted message: success, warning or error. */
import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

export type NoticeKind = 'good' | 'warn' | 'bad' | 'info'

const icons: Record<NoticeKind, IconName> = {
  good: 'check',
  warn: 'warning',
  bad: 'cross',
  info: 'shield',
}

type NoticeProps = {
  readonly kind: NoticeKind
  readonly title?: string
  /** Announced immediately by screen readers. */
  readonly urgent?: boolean
  readonly children?: ComponentChildren
}

export function Notice({ kind, title, urgent = false, children }: NoticeProps) {
  return (
    <div class={`notice ${kind}`} role={urgent ? 'alert' : undefined}>
      <Icon name={icons[kind]} />
      <div>
        {title !== undefined && <p class="notice-title">{title}</p>}
        {children}
      </div>
    </div>
  )
}
