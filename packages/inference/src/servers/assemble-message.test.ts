/** A whole message from its events: calls are put together, and pieces that are none are refused. */
import { expect, test } from 'bun:test'
import { rejection } from '../../../../test/rejection.ts'
import type { JsonObject } from '../engine.ts'
import { assembleNative } from './assemble-message.ts'

const call = { type: 'tool_use', id: 'c', name: 'look', input: {} }
const end = { type: 'message_delta', delta: { stop_reason: 'tool_use' } }

/** A message with one call, whose deltas are these. */
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

test('the pieces of a call are its input', async () => {
  const { content } = await assemble(piece('{"at":'), piece(' "sea"}'))
  expect(content).toEqual([{ ...call, input: { at: 'sea' } }])
})

test('a call without pieces keeps the input it began with', async () => {
  expect((await assemble()).content).toEqual([call])
})

test('a piece of a call that is no text has failed, also where it reads as JSON', async () => {
  for (const none of [undefined, null, 7, { text: '{}' }, ['{}']]) {
    expect(await rejection(assemble(piece(none)))).toMatchObject({
      code: 'engine_failed',
      message: 'the model server sent a piece of a call that is no text',
    })
  }
})

test('a call that is not JSON has failed, and the failure does not quote it', async () => {
  expect(await rejection(assemble(piece('{"at": "se')))).toMatchObject({
    code: 'engine_failed',
    message: 'the model server sent a call that is not JSON',
  })
})

test.each([undefined, null, 'text', 7])('a delta that is %p has failed', async (delta) => {
  expect(await rejection(assemble(delta))).toMatchObject({
    code: 'engine_failed',
    message: 'the model server sent a piece of an answer with nothing in it',
  })
})
