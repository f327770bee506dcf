/** Answers a legacy completion: prompts are used as they are, without a chat template. */
import { type EngineAnswer, type EngineCall, EngineError, type JsonObject } from '../../engine.ts'
import { answerGrammar } from '../grammar/answer-grammar.ts'
import type { GenerativeModel } from '../model/generative-model.ts'
import { RawOutput } from '../output/raw-output.ts'
import { type Choice, startRun } from '../scheduling/generation-run.ts'
import { integer, readSampling } from '../scheduling/sampling.ts'
import { fitMaxTokens, readChoices, readStops } from './call-limits.ts'
import { ChoiceOutput } from './choice-output.ts'
import { CompletionAnswer } from './completion-answer.ts'
import { readPrompts } from './completion-prompts.ts'
import { streamRun } from './stream-run.ts'
import { UsageCount } from './usage-count.ts'

const defaultMaxTokens = 16
const maxTotalChoices = 128

export async function answerCompletion(
  model: GenerativeModel,
  { body, stream, signal, keepPrefix, onUsage }: EngineCall,
  key: string,
): Promise<EngineAnswer> {
  refuseUnsupported(body)
  const echo = body.echo === true
  const topLogprobs = integer(body, 'logprobs', 0, 20)
  const ownPromptLogprobs = integer(body, 'prompt_logprobs', 0, 20)
  const asked = integer(body, 'max_tokens', echo ? 0 : 1, 1e9) ?? defaultMaxTokens
  const n = readChoices(body, model)
  const prompts = readPrompts(body, model)
  if (prompts.length * n > maxTotalChoices)
    throw new EngineError('invalid_value', `a call may ask for ${maxTotalChoices} choices`, {
      param: 'n',
    })
  const grammar = formatGrammar(model, body)
  const runs = prompts.map((prompt, at) => ({
    prompt,
    tokens: prompt.tokens,
    maxTokens: fitMaxTokens(prompt.tokens.length, asked, model, 'prompt').maxTokens,
    choices: makeChoices(model, body, prompt.tokens, grammar, n, at * n),
  }))
  const usage = new UsageCount(onUsage)
  const extras = {
    echo,
    withLogprobs: topLogprobs !== undefined,
    withPromptScores: ownPromptLogprobs !== undefined,
  }
  const options = {
    key,
    keep: keepPrefix !== false,
    topLogprobs,
    promptLogprobs: ownPromptLogprobs ?? (echo ? topLogprobs : undefined),
    ignoreEnd: body.ignore_eos === true,
    usage,
    signal,
  }
  const answer = new CompletionAnswer(model, runs, extras, usage)
  if (stream) return { kind: 'stream', chunks: streamRun(model.scheduler, runs, options, answer) }
  await startRun(model.scheduler, runs, options, answer.collect())
  return { kind: 'complete', body: answer.format() }
}

/** Compiled once for all prompts of a call. */
const formatGrammar = ({ native }: GenerativeModel, body: JsonObject): Choice['grammar'] =>
  answerGrammar(
    native,
    body,
    { kind: 'none', tools: [], isParallel: false },
    { toolStyle: 'described', mayThink: false, startsInReasoning: false },
  )

function makeChoices(
  model: GenerativeModel,
  body: JsonObject,
  prompt: readonly number[],
  grammar: Choice['grammar'],
  n: number,
  firstIndex: number,
): Choice[] {
  const { text } = model
  const sampling = {
    defaults: model.sampling,
    vocabularySize: text.size,
    contextLength: model.info.contextLength,
    prompt,
  }
  return readSampling(body, sampling, n).map((sampler, at) => ({
    index: firstIndex + at,
    sampler,
    grammar,
    output: new ChoiceOutput({
      text,
      reader: new RawOutput(),
      stops: readStops(body),
      silentStops: [],
      shownMarks: new Set(),
      grammarAtCall: undefined,
      endsAfterCall: false,
    }),
  }))
}

function refuseUnsupported(body: JsonObject): void {
  const refused = (param: string): never => {
    throw new EngineError('unsupported_value', `${param} is not supported`, { param })
  }
  if (typeof body.suffix === 'string' && body.suffix !== '') refused('suffix')
  if (typeof body.best_of === 'number' && body.best_of !== (body.n ?? 1)) refused('best_of')
}
