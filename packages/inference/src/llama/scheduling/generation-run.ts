/** Runs all choices of one call on the scheduler and reports the events of each. */
import type { ChoiceOutput } from '../calls/choice-output.ts'
import type { UsageCount } from '../calls/usage-count.ts'
import type { NativeSamplerConfig } from '../model/native-binding.ts'
import type { OutputPart } from '../output/output-part.ts'
import type { GenerationEnd, GenerationTask, SampledToken, ScoredToken } from './generation-task.ts'
import type { SequenceScheduler } from './sequence-scheduler.ts'

export type Choice = {
  readonly index: number
  readonly output: ChoiceOutput
  readonly sampler: NativeSamplerConfig
  readonly grammar: GenerationTask['grammar']
}

/** One prompt and the choices that continue it. */
export type PromptRun = {
  readonly tokens: readonly number[]
  readonly maxTokens: number
  readonly choices: readonly Choice[]
}

export type RunOptions = Pick<
  GenerationTask,
  'key' | 'keep' | 'topLogprobs' | 'promptLogprobs' | 'ignoreEnd'
> & { readonly usage: UsageCount; readonly signal: AbortSignal }

export type RunEvents = {
  readonly onStart: (choice: Choice) => void
  readonly onPromptScore: (prompt: PromptRun, score: ScoredToken) => void
  readonly onToken: (choice: Choice, token: SampledToken, parts: readonly OutputPart[]) => void
  readonly onEnd: (choice: Choice, end: GenerationEnd, parts: readonly OutputPart[]) => void
}

/**
 * Throws immediately if the queue is full; the promise settles with the last choice. If one choice
 * fails or the caller leaves, the others are stopped as well.
 */
export function startRun(
  scheduler: SequenceScheduler,
  prompts: readonly PromptRun[],
  { usage, signal, ...shared }: RunOptions,
  events: RunEvents,
): Promise<void> {
  const stop = new AbortController()
  const ends = scheduler.start(
    prompts.map((prompt) =>
      prompt.choices.map(
        (choice, at): GenerationTask => ({
          ...shared,
          // The prompt is counted and scored once, however many choices follow it.
          promptLogprobs: at === 0 ? shared.promptLogprobs : undefined,
          prompt: prompt.tokens,
          maxTokens: prompt.maxTokens,
          sampler: choice.sampler,
          grammar: choice.grammar,
          signal: AbortSignal.any([signal, stop.signal]),
          onStart: (cachedTokens) => {
            if (at === 0) usage.addPrompt(prompt.tokens.length, cachedTokens)
            events.onStart(choice)
          },
          onPromptScore: (score) => events.onPromptScore(prompt, score),
          onToken: (token) => {
            usage.addToken()
            const { parts, decision } = choice.output.push(token)
            events.onToken(choice, token, parts)
            return decision
          },
        }),
      ),
    ),
  )
  const choices = prompts.flatMap((prompt) => prompt.choices)
  const finished = ends.map(async (end, at) => {
    const result = await end
    const choice = choices[at]
    if (choice === undefined) return
    usage.reasoningTokens += choice.output.reasoningTokens
    events.onEnd(choice, result, choice.output.end(result === 'length'))
  })
  return Promise.all(finished).then(
    () => {},
    async (error) => {
      stop.abort()
      await Promise.allSettled(finished) // nothing of a failed call keeps running
      throw error
    },
  )
}
