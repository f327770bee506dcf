/** Leaves nothing of one person for the next who uses this page. */
import { clearConversations, settledSaves } from './pages/playground/conversation.ts'
import { forgetVault } from './pages/playground/conversation-vault.ts'
import { forgetConnection } from './trust/connection.ts'
import { dropPortalKey } from './trust/portal-key.ts'

export async function forgetVisitor(): Promise<void> {
  clearConversations()
  forgetConnection()
  dropPortalKey()
  await settledSaves() // else the last one would come after the end
  await forgetVault()
}
