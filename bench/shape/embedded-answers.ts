/** Asks the embedded model about the topics once, and keeps its answers token by token. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { runStack } from '../../test/e2e/running-stack.ts'
import { modelPath } from '../../test/story-model.ts'
import { makeConversation } from './conversations.ts'
import type { ScriptedConversation, ScriptedTurn } from './scripted-conversation.ts'
import { seededRandom } from './seeded-random.ts'
import { topics } from './topics.ts'

export type AnswerOptions = {
  readonly perTopic: number
  readonly path: string
  readonly onProgress: (done: number) => void
}

const maxTokens = 90
const atATime = 4
/** A processor without a graphics card is slow; served ones need about so long for a token. */
const targetPaceMs = 20

/** What there is already is taken from the file: the model needs its time for all. */
export async function embeddedAnswers(options: AnswerOptions): Promise<ScriptedConversation[]> {
  const kept = existsSync(options.path) ? readKept(options.path) : []
  const missing = askedQuestions(options.perTopic).slice(kept.length)
  if (missing.length === 0) return kept.slice(0, options.perTopic * topics.length)
  const stack = await runStack([
    ...['--chatModel', await modelPath('tinyllama-1.1b-chat')],
    ...['--embedModel', 'none', '--trafficShape', 'off'],
  ])
  try {
    while (missing.length > 0) {
      const batch = missing.splice(0, atATime)
      const answered = batch.map(async (asked) => ({
        ...{ topic: asked.topic, group: asked.group },
        turns: [await answerOf(stack.proxyUrl, asked.question)],
      }))
      kept.push(...(await Promise.all(answered)))
      writeFileSync(options.path, JSON.stringify(kept))
      options.onProgress(kept.length)
    }
  } finally {
    await stack.stop()
  }
  return kept
}

const readKept = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as ScriptedConversation[]

type Asked = { readonly topic: string; readonly group: string; readonly question: string }

function askedQuestions(perTopic: number): Asked[] {
  const random = seededRandom(7)
  return Array.from({ length: perTopic }, () => topics)
    .flat()
    .map((topic) => {
      const { group, turns } = makeConversation(topic, random)
      return { topic: topic.name, group, question: turns[0]?.question ?? '' }
    })
}

/** The structure of the model's times is kept; only their mean is brought to that of a server. */
async function answerOf(proxyUrl: string, question: string): Promise<ScriptedTurn> {
  const response = await fetch(`${proxyUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'tinyllama-1.1b-chat', stream: true, max_tokens: maxTokens, temperature: 0.8 },
      messages: [{ role: 'user', content: question }],
    }),
  })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
  const tokens: string[] = []
  const timesMs: number[] = []
  let buffered = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    buffered += decoder.decode(chunk, { stream: true })
    const events = buffered.split('\n\n')
    buffered = events.pop() ?? ''
    for (const event of events.filter((text) => text.startsWith('data: {'))) {
      const parsed = JSON.parse(event.slice(6)) as { choices: { delta?: { content?: string } }[] }
      const content = parsed.choices[0]?.delta?.content ?? ''
      if (content === '') continue
      tokens.push(content)
      timesMs.push(performance.now())
    }
  }
  const paces = timesMs.map((at, index) => at - (timesMs[index - 1] ?? at))
  const mean = paces.reduce((sum, each) => sum + each, 0) / Math.max(1, paces.length - 1)
  const pacesMs = paces.map((pace) => Math.min(500, (pace * targetPaceMs) / mean))
  return { question, tokens, prefillMs: 60, pacesMs }
}
