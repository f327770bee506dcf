/** Leaves nothing of one person for the next who uses this page. */
import { clear } from './pages/playground/conversation.ts'
import { forgetConnection } from './trust/connection.ts'
import { dropPortalKey } from './trust/portal-key.ts'

export function forgetVisitor(): void {
  clear()
  forgetConnection()
  dropPortalKey()
}
