/** Makes conversations about topics: the same phrases for all, other words, lengths and habits. */
import { closings, followUps, general, items, openings, questions, sentences } from './phrasing.ts'
import type { Random } from './seeded-random.ts'
import { families, type Topic, topics } from './topics.ts'

export type Turn = { readonly question: string; readonly answer: string }

export type Conversation = {
  readonly topic: string
  /** Conversations that begin with the same question form one group; no group is split over folds. */
  readonly group: string
  readonly turns: readonly Turn[]
}

/** As many of each topic, in an order that mixes them. */
export function makeConversations(count: number, random: Random): Conversation[] {
  const made = Array.from({ length: count }, (_, index) => {
    const topic = topics[index % topics.length]
    if (topic === undefined) throw new RangeError('there are no topics')
    return makeConversation(topic, random)
  })
  for (let last = made.length - 1; last > 0; last--) {
    const other = Math.floor(random.next() * (last + 1))
    const [a, b] = [made[last], made[other]]
    if (a !== undefined && b !== undefined) [made[last], made[other]] = [b, a]
  }
  return made
}

export function makeConversation(topic: Topic, random: Random): Conversation {
  const index = Math.floor(random.next() * questions.length)
  const first = { question: fill(questions[index] ?? '', topic, random, 1) }
  const turns = [{ ...first, answer: makeAnswer(topic, random, answerLengths[index] ?? 1) }]
  if (random.next() < 0.5) {
    const question = fill(random.pick(followUps), topic, random, 1)
    turns.push({ question, answer: makeAnswer(topic, random, 0.6) })
  }
  return { topic: topic.name, group: `${topic.name}/${index}`, turns }
}

/** How long the answers to each form of question are, against the topic's own length. */
const answerLengths = [1, 1.1, 0.9, 0.9, 1.2, 0.8, 1, 0.7, 1, 0.8, 1.1, 0.8]

function makeAnswer(topic: Topic, random: Random, factor: number): string {
  const spread = Math.exp(0.25 * random.normal())
  const count = Math.max(1, Math.round(topic.sentences * factor * spread))
  const isListing = random.next() < topic.listing
  const parts = random.next() < 0.7 ? [fill(random.pick(openings), topic, random)] : []
  for (let index = 0; index < count; index++) {
    if (random.next() < 0.12) parts.push(random.pick(topic.stock))
    else if (isListing && index > 0) {
      parts.push(`\n${index}. ${fill(random.pick(items), topic, random)}`)
    } else parts.push(fill(random.pick(sentences), topic, random))
    if (!isListing && random.next() < 0.15) parts.push('\n\n')
  }
  const closing = fill(random.pick(closings), topic, random)
  return [...parts, isListing ? `\n\n${closing}` : closing]
    .join(' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .trim()
}

/** Puts words into the braces: most of the topic, some of its family, some of none. */
function fill(pattern: string, topic: Topic, random: Random, ownShare = 0.6): string {
  const shared = families[topic.family].split(',')
  const filled = pattern.replaceAll(/\{(\w)\}/g, (_, slot: string) => {
    if (slot === 'g') return random.pick(general)
    const chance = random.next()
    const from = chance < ownShare ? topic.terms : chance < 0.9 ? shared : general
    const word = random.pick(from)
    return slot === 'A' ? capital(word) : word
  })
  return capital(filled)
}

const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
