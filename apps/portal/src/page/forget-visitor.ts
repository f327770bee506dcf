/** Clears everything of one visitor before the next one uses this browser. */
import { clearConversations, settledSaves } from './pages/playground/conversation.ts'
import { forgetVault, keepOnly } from './pages/playground/conversation-vault.ts'
import { forgetConnection } from './trust/connection.ts'
import { dropPortalKey } from './trust/portal-key.ts'

export async function forgetVisitor(): Promise<void> {
  clearConversations()
  forgetConnection()
  dropPortalKey()
  await settledSaves() // otherwise the last save could happen after this
  await forgetVault()
}

/** Without a vault, as in some private windows, there is nothing to delete. */
export async function forgetOtherVisitors(memberId: string): Promise<void> {
  await keepOnly(memberId).catch(() => {})
}
