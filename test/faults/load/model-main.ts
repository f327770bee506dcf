/** The model server of a campaign, in its own process: `bun model-main.ts PORT`. */
import {
  completeReply,
  type ReplyContext,
  streamReply,
} from '../../../packages/inference/src/testing/scripted-reply.ts'
import { answerTo, chatModel, embeddingOf, embedModel, paceOf } from './question.ts'

type Asked = {
  readonly model: string
  readonly stream?: boolean
  readonly prompt?: string
  readonly input?: string
  readonly messages?: { content: string | { text: string }[] }[]
}

const refuse = (status: number, message: string) =>
  Response.json({ error: { message, type: 'BadRequestError', code: status } }, { status })

const cards = [chatModel, embedModel].map((id) => ({
  id,
  object: 'model',
  created: 1_750_000_000,
  owned_by: 'vllm',
  max_model_len: 1_000_000,
  root: id,
}))

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  idleTimeout: 0,
  async fetch(request) {
    const { pathname } = new URL(request.url)
    if (request.method === 'GET') return describe(pathname)
    const asked = (await request.json()) as Asked
    switch (pathname) {
      case '/v1/chat/completions':
      case '/v1/completions':
        return generate(pathname, asked, request.signal)
      case '/v1/embeddings':
        return embed(asked)
    }
    return refuse(404, 'not found')
  },
})

function describe(path: string): Response {
  if (path === '/v1/models') return Response.json({ object: 'list', data: cards })
  if (path === '/version') return Response.json({ version: '0.27.0' })
  return path === '/health' ? Response.json({ status: 'ok' }) : refuse(404, 'not found')
}

function promptOf(asked: Asked): string {
  const content = asked.messages?.at(-1)?.content ?? asked.prompt ?? ''
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('')
}

function generate(path: string, asked: Asked, signal: AbortSignal): Response | Promise<Response> {
  if (asked.model === embedModel) return refuse(400, 'this model only embeds')
  const prompt = promptOf(asked)
  const refused = /refuse=(\d+)/.exec(prompt)?.[1]
  if (refused !== undefined) return refuse(Number(refused), 'refused as asked')
  const paceMs = paceOf(prompt)
  const text = answerTo(prompt)
  const context: ReplyContext = {
    isChat: path === '/v1/chat/completions',
    body: asked,
    // A whole answer takes as long as a stream of the same words.
    reply: asked.stream ? { text, paceMs } : { text, prefillMs: paceMs * text.split(' ').length },
    promptCount: prompt.split(' ').length,
    cachedCount: 0,
  }
  return asked.stream ? streamReply(context, signal) : completeReply(context, signal)
}

function embed(asked: Asked): Response {
  if (asked.model !== embedModel) return refuse(400, 'this model does not embed')
  const data = [{ index: 0, object: 'embedding', embedding: embeddingOf(asked.input ?? '') }]
  return Response.json({ data, usage: { prompt_tokens: 1, total_tokens: 1 } })
}
