/** The answer to a legacy completion, complete or in chunks. */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../engine.ts'
import type { GenerativeModel } from '../model/generative-model.ts'
import type { OutputPart } from '../output/output-part.ts'
import type { Choice, PromptRun, RunEvents } from '../scheduling/generation-run.ts'
import type { GenerationEnd, SampledToken, ScoredToken } from '../scheduling/generation-task.ts'
import { TextStream, type TokenText } from '../scheduling/token-text.ts'
import type { CompletionPrompt } from './completion-prompts.ts'
import { formatPromptScores, LegacyLogprobs } from './logprob-format.ts'
import type { StreamedAnswer } from './stream-run.ts'
import type { UsageCount } from './usage-count.ts'

export type CompletionExtras = {
  readonly echo: boolean
  readonly withLogprobs: boolean
  readonly withPromptScores: boolean
}

type Entry = {
  readonly choice: Choice
  readonly prompt: CompletionPrompt
  readonly promptScores: ScoredToken[]
  text: string
  /** Measures the text of all tokens so far: `text` lags behind while a stop string is possible. */
  readonly measure: TextLength
  logprobs: LegacyLogprobs
  hasEchoed: boolean
  end?: GenerationEnd
}

export class CompletionAnswer implements StreamedAnswer {
  readonly #model: GenerativeModel
  readonly #extras: CompletionExtras
  readonly #usage: UsageCount
  readonly #entries: readonly Entry[]
  readonly #scoresOfRun = new Map<readonly number[], ScoredToken[]>()
  readonly #head: JsonObject

  constructor(
    model: GenerativeModel,
    prompts: readonly { prompt: CompletionPrompt; choices: readonly Choice[] }[],
    extras: CompletionExtras,
    usage: UsageCount,
  ) {
    this.#model = model
    this.#extras = extras
    this.#usage = usage
    this.#head = {
      id: `cmpl-${randomBytes(16).toString('hex')}`,
      object: 'text_completion',
      created: Math.floor(Date.now() / 1000),
      model: model.info.id,
    }
    this.#entries = prompts.flatMap(({ prompt, choices }) => {
      const promptScores: ScoredToken[] = []
      this.#scoresOfRun.set(prompt.tokens, promptScores)
      return choices.map((choice) => ({
        choice,
        prompt,
        promptScores,
        text: '',
        measure: new TextLength(model.text),
        logprobs: new LegacyLogprobs(),
        hasEchoed: false,
      }))
    })
  }

  collect(): RunEvents {
    return this.#events(() => {})
  }

  stream(push: (chunk: JsonObject) => void): RunEvents {
    return this.#events((entry, text, logprobs, rest = {}) => {
      const shown = this.#extras.withLogprobs ? { ...logprobs } : null
      const choice = {
        index: entry.choice.index,
        text,
        logprobs: shown,
        finish_reason: null,
        ...rest,
      }
      push({ ...this.#head, choices: [choice] })
    })
  }

  usageChunk(): JsonObject {
    return { ...this.#head, choices: [], usage: this.#usage.format() }
  }

  format(): JsonObject {
    const { withLogprobs, withPromptScores } = this.#extras
    const choices = this.#entries.map(({ choice, text, logprobs, promptScores, end }) => ({
      index: choice.index,
      text,
      logprobs: withLogprobs ? { ...logprobs } : null,
      finish_reason: finishReason(end),
      stop_reason: choice.output.stopReason,
      ...(withPromptScores
        ? { prompt_logprobs: formatPromptScores(promptScores, this.#model.text) }
        : {}),
    }))
    return { ...this.#head, choices, usage: this.#usage.format() }
  }

  #events(
    tell: (entry: Entry, text: string, logprobs: LegacyLogprobs, rest?: JsonObject) => void,
  ): RunEvents {
    const add = (choice: Choice, parts: readonly OutputPart[], token?: SampledToken): Entry => {
      const entry = this.#entry(choice)
      if (!entry.hasEchoed) this.#echo(entry, (text, logprobs) => tell(entry, text, logprobs))
      const text = parts.map((part) => (part.kind === 'content' ? part.text : '')).join('')
      const fresh = new LegacyLogprobs()
      if (token?.score !== undefined && !token.isEnd) {
        const offset = entry.measure.length
        fresh.add(token.score, offset, this.#model.text)
        entry.logprobs.add(token.score, offset, this.#model.text)
        entry.measure.add(token.token)
      }
      entry.text += text
      if (text !== '' || fresh.tokens.length > 0) tell(entry, text, fresh)
      return entry
    }
    return {
      onStart: () => {},
      onPromptScore: (run: PromptRun, score) => void this.#scoresOfRun.get(run.tokens)?.push(score),
      onToken: (choice, token, parts) => void add(choice, parts, token),
      onEnd: (choice, end, parts) => {
        const entry = add(choice, parts)
        entry.end = end
        const rest = { finish_reason: finishReason(end), stop_reason: choice.output.stopReason }
        tell(entry, '', new LegacyLogprobs(), rest)
      },
    }
  }

  /** The prompt comes first, with its scores, which are known by the first token. */
  #echo(entry: Entry, tell: (text: string, logprobs: LegacyLogprobs) => void): void {
    entry.hasEchoed = true
    if (!this.#extras.echo) return
    const { text: tokenText } = this.#model
    const { prompt, promptScores, logprobs } = entry
    const [first] = prompt.tokens
    if (first !== undefined && this.#extras.withLogprobs) {
      const whole = new TextLength(tokenText)
      for (const token of prompt.tokens) whole.add(token)
      // SentencePiece puts a space before a text, which the prompt does not have.
      const surplus = Math.max(0, whole.length - prompt.text.length)
      const measure = new TextLength(tokenText)
      measure.add(first)
      logprobs.addFirst(first, tokenText)
      for (const score of promptScores) {
        logprobs.add(score, Math.max(0, measure.length - surplus), tokenText)
        measure.add(score.token)
      }
    }
    entry.text = prompt.text
    entry.measure.length = prompt.text.length
    const copy = Object.assign(new LegacyLogprobs(), structuredClone({ ...logprobs }))
    tell(prompt.text, copy)
  }

  #entry(choice: Choice): Entry {
    const entry = this.#entries[choice.index]
    if (entry === undefined) throw new RangeError(`there is no choice ${choice.index}`)
    return entry
  }
}

/** Counts the characters of tokens; one that is split between tokens counts when it is complete. */
class TextLength {
  readonly #text: TokenText
  readonly #stream: TextStream
  length = 0

  constructor(text: TokenText) {
    this.#text = text
    this.#stream = new TextStream(text)
  }

  add(token: number): void {
    if (!this.#text.isControl(token)) this.length += this.#stream.push(token).length
  }
}

const finishReason = (end: GenerationEnd | undefined): string =>
  end === 'length' ? 'length' : 'stop'
