/** Leaves nothing of one person for the next who uses this page. */
import { clear } from '../pages/playground/conversation.ts'
import { forgetConnection } from './connection.ts'
import { dropPortalKey } from './portal-key.ts'

export function forgetVisitor(): void {
  clear()
  forgetConnection()
  dropPortalKey()
}
