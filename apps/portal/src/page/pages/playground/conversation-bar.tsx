/** The list of conversations: choose, start or delete one. */
import { useStore } from '../../store.ts'
import { Button } from '../../view/button.tsx'
import { Choice } from '../../view/field.tsx'
import {
  conversations,
  currentOf,
  deleteConversation,
  openConversation,
  startConversation,
  titleOf,
} from './conversation.ts'

export function ConversationBar() {
  const state = useStore(conversations)
  const current = currentOf(state)
  return (
    <>
      {state.all.length > 1 && (
        <Choice
          label="Conversation"
          quiet
          value={current.id}
          onValue={openConversation}
          options={state.all.map((one) => [one.id, titleOf(one)])}
        />
      )}
      <Button disabled={current.turns.length === 0} onClick={startConversation}>
        New conversation
      </Button>
      <Button disabled={current.turns.length === 0} onClick={() => deleteConversation(current.id)}>
        Delete
      </Button>
    </>
  )
}
