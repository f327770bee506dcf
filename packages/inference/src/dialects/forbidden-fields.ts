/** Refuses fields that would let a caller control the model server instead of the model. */
import { ApiError } from '@privatemode/protocol/api'
import type { JsonObject } from '../engine.ts'
import { isObject } from './json-value.ts'
import { transferFields } from './transfer-fields.ts'

// A few kilobytes of rules keep vLLM's default library busy for minutes, and crash its alternative.
const costlyGrammar = 'a grammar can stop the model server for everyone; use a JSON schema'

export const forbiddenFields: ReadonlyMap<string, string> = new Map([
  ['chat_template', 'templates run as code in the model server'],
  ...transferFields.map(
    (name) => [name, 'it would make the model server exchange caches with another host'] as const,
  ),
  ['bootstrap_host', 'it would make the model server connect to another host'],
  ['bootstrap_port', 'it would make the model server connect to another host'],
  ['bootstrap_room', 'it would make the model server connect to another host'],
  ['prompt_embeds', 'the model server would load serialized tensors'],
  ['input_embeds', 'the model server would load serialized tensors'],
  ['input_ids', 'a chat consists of its messages'],
  ['embed_overrides', 'it would change internals of the model server'],
  ['embed_override_token_id', 'it would change internals of the model server'],
  ['image_data', 'media must be part of the messages'],
  ['audio_data', 'media must be part of the messages'],
  ['video_data', 'media must be part of the messages'],
  ['media_io_kwargs', 'it would change how the model server loads media'],
  ['images_config', 'it would change how the model server loads media'],
  ['video_config', 'it would change how the model server loads media'],
  ['mm_processor_kwargs', 'it would change how the model server loads media'],
  ['priority', 'it would let a request overtake others'],
  ['vllm_xargs', 'it would change internals of the model server'],
  ['request_id', 'it could refer to a request of another caller'],
  ['rid', 'it could refer to a request of another caller'],
  ['extra_key', 'only cache_salt decides what is shared'],
  ['session_id', 'it could refer to a session of another caller'],
  ['session_params', 'it could refer to a session of another caller'],
  ['ngram_corpus_id', 'it could refer to text of another caller'],
  ['custom_labels', 'it would write to the metrics of the model server'],
  ['routed_dp_rank', 'it would choose a machine of the model server'],
  ['data_parallel_rank', 'it would choose a machine of the model server'],
  ['disagg_prefill_dp_rank', 'it would choose a machine of the model server'],
  ['id_slot', 'it could refer to the cache of another caller'],
  ['slot_id', 'it could refer to the cache of another caller'],
  // SGLang searches with it after every token, in the one process that computes for all callers.
  ['stop_regex', 'a slow pattern would stop the model server for everyone'],
  // vLLM compares all pairs of long patterns after every token, in the process that schedules for all.
  ['repetition_detection', 'long patterns would slow the model server for everyone'],
  ...['grammar', 'grammar_lazy', 'grammar_triggers', 'guided_grammar', 'ebnf'].map(
    (name) => [name, costlyGrammar] as const,
  ),
  ['logits_processors', 'it would make the model server load code'],
  ['custom_logit_processor', 'it would make the model server load code'],
  ['custom_params', 'it would change internals of the model server'],
  ['lora_path', 'it would make the model server load files'],
  ['stream_interval', 'tokens that wait for the next chunk would be missing on an aborted call'],
])

/** The same inside the objects that servers read. */
const forbiddenInside: Readonly<Record<string, ReadonlyMap<string, string>>> = {
  chat_template_kwargs: new Map(
    ['chat_template', 'tokenize', 'conversation'].map((name) => [
      name,
      'templates run as code in the model server',
    ]),
  ),
  structured_outputs: new Map([
    ['grammar', costlyGrammar],
    ['structural_tag', costlyGrammar],
  ]),
}

export function refuseForbiddenFields(body: JsonObject): void {
  refuse(body, forbiddenFields, '')
  for (const [param, fields] of Object.entries(forbiddenInside)) {
    const inner = body[param]
    if (isObject(inner)) refuse(inner, fields, `${param}.`)
  }
}

/** `null` means absent, and is removed: not every server reads it that way. */
function refuse(object: JsonObject, fields: ReadonlyMap<string, string>, prefix: string): void {
  for (const name of Object.keys(object)) {
    const why = fields.get(name)
    if (why === undefined) continue
    if (object[name] === null) delete object[name]
    else throw refusal(`${prefix}${name}`, why)
  }
}

function refusal(param: string, why: string): ApiError {
  return new ApiError('unsupported_parameter', `'${param}' is not accepted: ${why}`, { param })
}
