/** The answer to a chat call, complete or in chunks. */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../engine.ts'
import type { GenerativeModel } from '../model/generative-model.ts'
import type { Choice, RunEvents } from '../scheduling/generation-run.ts'
import type { GenerationEnd, ScoredToken } from '../scheduling/generation-task.ts'
import { ChatChoice } from './chat-choice.ts'
import { formatPromptScores } from './logprob-format.ts'
import type { StreamedAnswer } from './stream-run.ts'
import type { UsageCount } from './usage-count.ts'

export class ChatAnswer implements StreamedAnswer {
  readonly #head: JsonObject
  readonly #text: GenerativeModel['text']
  readonly #usage: UsageCount
  readonly #choices: readonly {
    readonly state: ChatChoice
    readonly choice: Choice
    end?: GenerationEnd
  }[]
  readonly #promptScores: ScoredToken[] = []

  constructor(model: GenerativeModel, choices: readonly Choice[], usage: UsageCount) {
    this.#head = {
      id: `chatcmpl-${randomBytes(16).toString('hex')}`,
      created: Math.floor(Date.now() / 1000),
      model: model.info.id,
    }
    this.#text = model.text
    this.#usage = usage
    this.#choices = choices.map((choice) => ({ choice, state: new ChatChoice(model.text) }))
  }

  /** Collects everything for one complete answer. */
  collect(): RunEvents {
    return {
      onStart: () => {},
      onPromptScore: (_, score) => void this.#promptScores.push(score),
      onToken: (choice, token, parts) => {
        this.#state(choice).addScore(token.isEnd ? undefined : token.score)
        this.#state(choice).add(parts)
      },
      onEnd: (choice, end, parts) => {
        this.#state(choice).add(parts)
        const entry = this.#choices[choice.index]
        if (entry !== undefined) entry.end = end
      },
    }
  }

  /** Emits every step as a chunk. */
  stream(push: (chunk: JsonObject) => void): RunEvents {
    const send = (choice: Choice, delta: JsonObject, rest: JsonObject = {}): void => {
      const logprobs = this.#state(choice).takeScores()
      const fields = { index: choice.index, delta, logprobs, finish_reason: null, ...rest }
      push(this.#chunk([fields]))
    }
    return {
      onStart: (choice) => send(choice, { role: 'assistant', content: '' }),
      onPromptScore: () => {},
      onToken: (choice, token, parts) => {
        this.#state(choice).addScore(token.isEnd ? undefined : token.score)
        for (const delta of this.#state(choice).add(parts)) send(choice, delta)
      },
      onEnd: (choice, end, parts) => {
        for (const delta of this.#state(choice).add(parts)) send(choice, delta)
        const finish_reason = this.#state(choice).finishReason(end)
        send(choice, {}, { finish_reason, stop_reason: choice.output.stopReason })
      },
    }
  }

  usageChunk(): JsonObject {
    return { ...this.#chunk([]), usage: this.#usage.format() }
  }

  format(withPromptScores: boolean): JsonObject {
    const choices = this.#choices.map(({ choice, state, end = 'stopped' }) => ({
      index: choice.index,
      message: state.message(),
      logprobs: state.logprobs(),
      finish_reason: state.finishReason(end),
      stop_reason: choice.output.stopReason,
    }))
    const scores = withPromptScores
      ? { prompt_logprobs: formatPromptScores(this.#promptScores, this.#text) }
      : {}
    return {
      ...this.#head,
      object: 'chat.completion',
      choices,
      usage: this.#usage.format(),
      ...scores,
    }
  }

  #state(choice: Choice): ChatChoice {
    const entry = this.#choices[choice.index]
    if (entry === undefined) throw new RangeError(`there is no choice ${choice.index}`)
    return entry.state
  }

  #chunk(choices: JsonObject[]): JsonObject {
    return { ...this.#head, object: 'chat.completion.chunk', choices }
  }
}
