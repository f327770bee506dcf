/** Refuses fields that would let a caller steer the model server instead of the model. */
import { ApiError } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { isObject } from './json-value.ts'
import { transferFields } from './transfer-fields.ts'

const forbidden: ReadonlyMap<string, string> = new Map([
  ['chat_template', 'templates run as code in the model server'],
  ...transferFields.map(
    (name) => [name, 'it makes the model server exchange caches with a host'] as const,
  ),
  ['bootstrap_host', 'it makes the model server connect to a host'],
  ['bootstrap_port', 'it makes the model server connect to a host'],
  ['bootstrap_room', 'it makes the model server connect to a host'],
  ['prompt_embeds', 'the model server would load serialized tensors'],
  ['input_embeds', 'the model server would load serialized tensors'],
  ['image_data', 'media belong into the messages'],
  ['audio_data', 'media belong into the messages'],
  ['video_data', 'media belong into the messages'],
  ['media_io_kwargs', 'it changes how the model server loads media'],
  ['mm_processor_kwargs', 'it changes how the model server loads media'],
  ['priority', 'it would overtake the requests of others'],
  ['vllm_xargs', 'it reaches into the model server'],
  ['request_id', 'it could name the request of another'],
  ['rid', 'it could name the request of another'],
  ['extra_key', 'cache_salt alone decides what is shared'],
  ['session_id', 'it could name the session of another'],
  ['session_params', 'it could name the session of another'],
  ['ngram_corpus_id', 'it could name the text of another'],
  ['custom_labels', 'it would write into the metrics of the model server'],
  ['routed_dp_rank', 'it would choose a machine of the model server'],
  ['data_parallel_rank', 'it would choose a machine of the model server'],
  ['disagg_prefill_dp_rank', 'it would choose a machine of the model server'],
  ['id_slot', 'it could name the cache of another'],
  ['slot_id', 'it could name the cache of another'],
  ['logits_processors', 'it makes the model server load code'],
  ['custom_logit_processor', 'it makes the model server load code'],
  ['custom_params', 'it reaches into the model server'],
  ['lora_path', 'it makes the model server load files'],
])

const forbiddenTemplateArguments: readonly string[] = ['chat_template', 'tokenize', 'conversation']

export function refuseForbiddenFields(body: JsonObject): void {
  for (const name of Object.keys(body)) {
    const why = forbidden.get(name)
    if (why === undefined) continue
    if (body[name] === null) delete body[name]
    else throw refusal(name, why)
  }
  const templateArguments = body.chat_template_kwargs
  if (!isObject(templateArguments)) return
  for (const name of forbiddenTemplateArguments)
    if (Object.hasOwn(templateArguments, name))
      throw refusal(`chat_template_kwargs.${name}`, 'templates run as code in the model server')
}

function refusal(param: string, why: string): ApiError {
  return new ApiError('unsupported_parameter', `'${param}' is not accepted: ${why}`, { param })
}
