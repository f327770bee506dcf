/** A short label for a state. */
import type { ComponentChildren } from 'preact'

export type BadgeKind = 'good' | 'warn' | 'bad' | 'plain'

type BadgeProps = { readonly kind: BadgeKind; readonly children: ComponentChildren }

export const Badge = ({ kind, children }: BadgeProps) => (
  <span class={`badge ${kind}`}>{children}</span>
)
