/** A complete message from its events: calls are assembled, and invalid pieces are refused. */
import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { JsonObject } from '../engine.ts'
import { assembleNative } from './assemble-message.ts'

const call = { type: 'tool_use', id: 'c', name: 'look', input: {} }
const end = { type: 'message_delta', delta: { stop_reason: 'tool_use' } }

/** A message with one call that has these deltas. */
function assemble(...deltas: readonly unknown[]): Promise<JsonObject> {
  async function* events(): AsyncGenerator<JsonObject> {
    yield { type: 'message_start', message: { id: 'm' } }
    yield { type: 'content_block_start', content_block: call }
    for (const delta of deltas) yield { type: 'content_block_delta', delta }
    yield { type: 'content_block_stop' }
    yield end
  }
  return assembleNative('messages', events())
}
const piece = (partial_json: unknown) => ({ type: 'input_json_delta', partial_json })

test('the pieces of a call form its input', async () => {
  const { content } = await assemble(piece('{"at":'), piece(' "sea"}'))
  expect(content).toEqual([{ ...call, input: { at: 'sea' } }])
})

test('a call without pieces keeps its initial input', async () => {
  expect((await assemble()).content).toEqual([call])
})

test('a piece of a call that is not text is a failure, even if it is valid JSON', async () => {
  for (const none of [undefined, null, 7, { text: '{}' }, ['{}']]) {
    expect(await rejection(assemble(piece(none)))).toMatchObject({
      code: 'engine_failed',
      message: 'the model server sent a piece of a call that is not text',
    })
  }
})

test('a call that is not JSON is a failure, and the error does not quote it', async () => {
  expect(await rejection(assemble(piece('{"at": "se')))).toMatchObject({
    code: 'engine_failed',
    message: 'the model server sent a call that is not JSON',
  })
})

test.each([undefined, null, 'text', 7])('a delta that is %p is a failure', async (delta) => {
  expect(await rejection(assemble(delta))).toMatchObject({
    code: 'engine_failed',
    message: 'the model server sent an empty piece of an answer',
  })
})
