/**
 * What the length of an answer alone tells an ideal attacker, for many choices of lengths, and what each costs.
 *
 * Nothing is recorded here: lengths are drawn, put into classes, and the best possible guess is computed.
 */
import { type Random, seededRandom } from './seeded-random.ts'

/** Answers as long as people's are: medians of topics spread over a factor of 25, each answer around its topic's. */
export type Population = { readonly topics: number; readonly tokensPerSecond: number }

export type LengthChoice = {
  /** No answer is on the wire for a shorter time; longer ones for this times a power of the growth. */
  readonly leastSeconds: number
  readonly growth: number
  /** How often an answer gets the next length instead of its own, by chance. */
  readonly randomShare?: number
}

export type LengthLeak = LengthChoice & {
  /** Area under the precision-recall curve beyond the base rate, mean of all topics. */
  readonly areaAboveBase: number
  readonly worstTopic: number
  /** How much of the variance of the logarithm of the number of tokens is explained. */
  readonly explained: number
  readonly meanSeconds: number
}

const [leastTokens, mostTokens, middleTokens] = [12, 2_563, 175]

/** The choices that were compared. Growth of 1.02 stands for hardly any classes. */
export const choices: readonly LengthChoice[] = [
  { leastSeconds: 0.05, growth: 1.02 },
  { leastSeconds: 1, growth: 2 },
  { leastSeconds: 2, growth: 2 },
  { leastSeconds: 3.2, growth: 2 },
  { leastSeconds: 6.4, growth: 2 },
  { leastSeconds: 6.4, growth: 2, randomShare: 0.5 },
  { leastSeconds: 6.4, growth: 4 },
  { leastSeconds: 12.8, growth: 2 },
  { leastSeconds: 12.8, growth: 2, randomShare: 0.5 },
  { leastSeconds: 12.8, growth: 4 },
  { leastSeconds: 16, growth: 2 },
  { leastSeconds: 16, growth: 4 },
  { leastSeconds: 25.6, growth: 2 },
  { leastSeconds: 32, growth: 4 },
  { leastSeconds: 64, growth: 4 },
]

export function lengthCurve(population: Population, seed = 1): LengthLeak[] {
  const random = seededRandom(seed)
  const answers = drawAnswers(population, random, 2_000)
  return choices.map((choice) => judge(answers, population.topics, choice, random))
}

/** What one choice tells. */
export function lengthLeak(population: Population, choice: LengthChoice, seed = 1): LengthLeak {
  const random = seededRandom(seed)
  return judge(drawAnswers(population, random, 2_000), population.topics, choice, random)
}

export type DrawnAnswer = {
  readonly topic: number
  readonly tokens: number
  readonly seconds: number
  readonly paceMs: number
}

export function drawAnswers(
  { topics, tokensPerSecond }: Population,
  random: Random,
  perTopic: number,
): DrawnAnswer[] {
  const answers: DrawnAnswer[] = []
  const paceMs = 1000 / tokensPerSecond
  for (let topic = 0; topic < topics; topic++) {
    const place = topics === 1 ? 0 : (2 * topic) / (topics - 1) - 1
    for (let index = 0; index < perTopic; index++) {
      const drawn = middleTokens * Math.exp(1.6 * place + 0.9 * random.normal())
      const tokens = Math.min(mostTokens, Math.max(leastTokens, drawn))
      answers.push({ topic, tokens, seconds: tokens / tokensPerSecond, paceMs })
    }
  }
  return answers
}

function judge(
  answers: readonly DrawnAnswer[],
  topics: number,
  choice: LengthChoice,
  random: Random,
): LengthLeak {
  const { leastSeconds, growth, randomShare = 0 } = choice
  const classes = new Map<number, DrawnAnswer[]>()
  let sum = 0
  for (const answer of answers) {
    const own = Math.ceil(
      Math.log(Math.max(1, answer.seconds / leastSeconds)) / Math.log(growth) - 1e-9,
    )
    const steps = randomShare > 0 && random.next() < randomShare ? own + 1 : own
    const inClass = classes.get(steps) ?? []
    inClass.push(answer)
    classes.set(steps, inClass)
    sum += leastSeconds * growth ** steps
  }
  const groups = [...classes.values()]
  const areas = Array.from({ length: topics }, (_, topic) => areaOf(groups, topic))
  return {
    ...choice,
    areaAboveBase: mean(areas) - 1 / topics,
    worstTopic: Math.max(...areas),
    explained: explainedBy(groups),
    meanSeconds: sum / answers.length,
  }
}

/** The best order of classes is that of their share of the topic; precision counts all of a class at once. */
function areaOf(groups: readonly (readonly DrawnAnswer[])[], topic: number): number {
  const counted = groups.map((group) => {
    const hits = group.filter((answer) => answer.topic === topic).length
    return { hits, size: group.length }
  })
  counted.sort((a, b) => b.hits / b.size - a.hits / a.size)
  let [hits, size, area] = [0, 0, 0]
  const total = counted.reduce((sum, one) => sum + one.hits, 0)
  for (const one of counted) {
    hits += one.hits
    size += one.size
    area += (one.hits / total) * (hits / size)
  }
  return area
}

function explainedBy(groups: readonly (readonly DrawnAnswer[])[]): number {
  const logs = groups.map((group) => group.map(({ tokens }) => Math.log(tokens)))
  const all = logs.flat()
  const middle = mean(all)
  const total = all.reduce((sum, value) => sum + (value - middle) ** 2, 0)
  const between = logs.reduce((sum, group) => sum + group.length * (mean(group) - middle) ** 2, 0)
  return between / total
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length
