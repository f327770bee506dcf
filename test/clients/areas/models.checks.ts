/** Checks 29 to 33: the list of models and the names in it. */
import { expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-sdk-0'
import {
  type ClientStack,
  chat,
  chatPath,
  embedModel,
  message,
  messagesPath,
  model,
  throughBoth,
  visionModel,
} from '../client-stack.ts'

export function modelChecks(place: ClientStack): void {
  throughBoth('models', place, (entrance) => {
    test('check 29: one list is read by openai and by both majors of the Anthropic client', async () => {
      const { json } = await entrance.get('/v1/models')
      expect(json).toEqual({
        object: 'list',
        data: expect.any(Array),
        has_more: false,
        first_id: json.data[0].id,
        last_id: json.data.at(-1).id,
      })
      expect(json.data[0]).toMatchObject({
        object: 'model',
        created: expect.any(Number),
        owned_by: expect.any(String),
        type: 'model',
        display_name: expect.any(String),
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/),
      })
      const expected = [model, visionModel, embedModel].sort()
      const ids = async (pages: AsyncIterable<{ id: string }>) =>
        (await Array.fromAsync(pages, ({ id }) => id)).sort()
      expect(await ids(entrance.openai().models.list())).toEqual(expected)
      const majors = [Anthropic, Anthropic0 as unknown as typeof Anthropic]
      for (const Client of majors) {
        expect(await ids(entrance.anthropic(Client).models.list())).toEqual(expected)
      }
    })

    test('check 30: query strings are accepted', async () => {
      for (const path of [
        '/v1/models?limit=1000',
        '/v1/models?beta=true',
        `/v1/models/${model}?a`,
      ]) {
        expect([path, (await entrance.get(path)).status]).toEqual([path, 200])
      }
      expect((await entrance.ask(`${messagesPath}?beta=true`, message('hi'))).status).toBe(200)
    })

    test('check 31: retrieve works, also with a slash; an unknown id is 404', async () => {
      for (const path of [model, visionModel, encodeURIComponent(visionModel)]) {
        const { status, json } = await entrance.get(`/v1/models/${path}`)
        expect([path, status, json.id]).toEqual([path, 200, decodeURIComponent(path)])
      }
      expect((await entrance.openai().models.retrieve(visionModel)).id).toBe(visionModel)
      expect((await entrance.anthropic().models.retrieve(visionModel)).id).toBe(visionModel)
      const unknown = await entrance.get('/v1/models/nobody')
      expect([unknown.status, unknown.json.error.code]).toEqual([404, 'model_not_found'])
      const chatting = await entrance.ask(chatPath, { ...chat('hi'), model: 'nobody' })
      expect([chatting.status, chatting.json.error.code]).toEqual([404, 'model_not_found'])
      const messaging = await entrance.ask(messagesPath, { ...message('hi'), model: 'nobody' })
      expect([messaging.status, messaging.json.error.type]).toEqual([404, 'not_found_error'])
    })

    test('check 32: every listed model works; embedding models are marked and no chat is 400', async () => {
      const { json } = await entrance.get('/v1/models')
      for (const { id, tasks } of json.data) {
        if (tasks.includes('generate')) {
          expect((await entrance.ask(chatPath, { ...chat('hi'), model: id })).status).toBe(200)
        } else {
          expect([id, tasks]).toEqual([embedModel, ['embed']])
          const embedded = await entrance.ask('/v1/embeddings', { model: id, input: 'hi' })
          expect(embedded.status).toBe(200)
        }
      }
      const refused = await entrance.ask(chatPath, { ...chat('hi'), model: embedModel })
      expect([refused.status, refused.json.error.param]).toEqual([400, 'model'])
      expect(refused.json.error.message).toContain('/v1/embeddings')
    })

    test('check 33: latest resolves, with a deprecation signal', async () => {
      for (const [path, body] of [
        [chatPath, chat('hi')],
        [messagesPath, message('hi')],
        ['/v1/embeddings', { input: 'hi' }],
      ] as const) {
        const { status, json, headers } = await entrance.ask(path, { ...body, model: 'latest' })
        expect([path, status]).toEqual([path, 200])
        expect([model, visionModel, embedModel]).toContain(json.model)
        expect(headers.get('deprecation')).toMatch(/^@\d+$/)
        expect(headers.get('warning')).toContain(json.model)
      }
    })
  })
}
