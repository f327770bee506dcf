/** The signed-in member, as known to this page. */
import type { Member } from '@privatemode/protocol/fleet'
import { createStore } from '../store.ts'

export type Session =
  | { readonly kind: 'unknown' }
  /** `ended`: there was a session, and it is over. */
  | { readonly kind: 'signed-out'; readonly ended: boolean }
  | { readonly kind: 'signed-in'; readonly member: Member; readonly csrfToken: string }

export const session = createStore<Session>({ kind: 'unknown' })
