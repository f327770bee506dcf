/** Answers a chat call: prompt, generation, and the answer, complete or in chunks. */
import { type EngineAnswer, type EngineCall, EngineError, type JsonObject } from '../../engine.ts'
import { answerGrammar, begunCallGrammar } from '../grammar/answer-grammar.ts'
import type { GenerativeModel } from '../model/generative-model.ts'
import { HarmonyOutput, harmonyMarks } from '../output/harmony-output.ts'
import { PlainOutput } from '../output/plain-output.ts'
import { type ChatPrompt, makeChatPrompt } from '../prompt/chat-prompt.ts'
import { type Choice, startRun } from '../scheduling/generation-run.ts'
import { integer, readSampling } from '../scheduling/sampling.ts'
import { fitMaxTokens, readChoices, readStops } from './call-limits.ts'
import { ChatAnswer } from './chat-answer.ts'
import { ChoiceOutput } from './choice-output.ts'
import { streamRun } from './stream-run.ts'
import { UsageCount } from './usage-count.ts'

export async function answerChat(
  model: GenerativeModel,
  { body, stream, signal, keepPrefix, onUsage }: EngineCall,
  key: string,
): Promise<EngineAnswer> {
  const prompt = makeChatPrompt(body, model.template, model.tokenizer)
  const asked =
    integer(body, 'max_completion_tokens', 1, 1e9) ?? integer(body, 'max_tokens', 1, 1e9)
  const { maxTokens, fitted } = fitMaxTokens(prompt.tokens.length, asked, model, 'messages')
  const choices = makeChoices(model, body, prompt)
  const usage = new UsageCount(onUsage)
  const options = {
    key,
    keep: keepPrefix !== false,
    topLogprobs: body.logprobs === true ? (integer(body, 'top_logprobs', 0, 20) ?? 0) : undefined,
    promptLogprobs: integer(body, 'prompt_logprobs', 0, 20),
    ignoreEnd: body.ignore_eos === true,
    usage,
    signal,
  }
  const run = [{ tokens: prompt.tokens, maxTokens, choices }]
  const answer = new ChatAnswer(model, choices, usage)
  if (stream)
    return { kind: 'stream', chunks: streamRun(model.scheduler, run, options, answer), fitted }
  await startRun(model.scheduler, run, options, answer.collect())
  return { kind: 'complete', body: answer.format(options.promptLogprobs !== undefined), fitted }
}

/** The tokens that a call with this body is charged for; approximate if the prompt is far too long. */
export function countChatTokens(model: GenerativeModel, body: JsonObject): number {
  try {
    return makeChatPrompt(body, model.template, model.tokenizer).tokens.length
  } catch (error) {
    if (error instanceof EngineError && error.promptTokens !== undefined) return error.promptTokens
    throw error
  }
}

function makeChoices(model: GenerativeModel, body: JsonObject, prompt: ChatPrompt): Choice[] {
  const { native, template, text } = model
  const { choice, startsInReasoning } = prompt
  const { toolStyle, mayThink } = template
  const isHarmony = toolStyle === 'harmony'
  const grammar = answerGrammar(native, body, choice, { toolStyle, mayThink, startsInReasoning })
  // A forced call may follow a started answer; JSON that a schema describes has its own start.
  if (prompt.continues && grammar !== undefined && (isHarmony || choice.kind !== 'forced'))
    throw new EngineError(
      'unsupported_value',
      'a started answer cannot be continued under a response_format',
      { param: 'messages' },
    )
  const isFree = choice.kind === 'auto' && grammar === undefined && !isHarmony
  const atCall = isFree ? begunCallGrammar(native, choice) : undefined
  const sampling = {
    defaults: model.sampling,
    vocabularySize: text.size,
    contextLength: model.info.contextLength,
    prompt: prompt.tokens,
  }
  return readSampling(body, sampling, readChoices(body, model)).map((sampler, index) => ({
    index,
    sampler,
    grammar,
    output: new ChoiceOutput({
      text,
      reader: isHarmony
        ? new HarmonyOutput(prompt.continues)
        : new PlainOutput({ startsInReasoning, hasTools: choice.kind !== 'none' }),
      stops: readStops(body),
      silentStops: template.stops,
      shownMarks: new Set(
        isHarmony ? harmonyMarks : ['<tool_call>', '</tool_call>', '<think>', '</think>'],
      ),
      grammarAtCall: atCall === undefined ? undefined : () => atCall.start(),
      endsAfterCall: !choice.isParallel,
    }),
  }))
}
