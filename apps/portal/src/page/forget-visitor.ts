/** Clears everything of one visitor before the next one uses this page. */
import { clearConversations, settledSaves } from './pages/playground/conversation.ts'
import { forgetVault } from './pages/playground/conversation-vault.ts'
import { forgetConnection } from './trust/connection.ts'
import { dropPortalKey } from './trust/portal-key.ts'

export async function forgetVisitor(): Promise<void> {
  clearConversations()
  forgetConnection()
  dropPortalKey()
  await settledSaves() // otherwise the last save could happen after this
  await forgetVault()
}
