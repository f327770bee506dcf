/**
 * Which fields of a request a server knows. A caller's fields reach it unless we refuse them, so someone
 * has to judge each one; a release with another is noticed here.
 */
import { forbiddenFields } from '../../packages/inference/src/dialects/forbidden-fields.ts'
import type { Json } from './entrances.ts'

const paths = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/v1/embeddings',
]

/** They concern the caller's own answer and nobody else; we check those that could be costly. */
const harmless: ReadonlySet<string> = new Set(
  `
  add_generation_prompt add_special_tokens allowed_token_ids background bad_words best_of betas
  cache_salt chat_template_kwargs continue_final_message dimensions documents echo
  embed_dtype enable_response_messages encoding_format endianness frequency_penalty ignore_eos
  include include_reasoning include_stop_str_in_output input instructions json_schema
  length_penalty logit_bias logprob_token_ids logprobs max_completion_tokens max_dynamic_patch
  max_output_tokens max_tokens max_tool_calls messages metadata min_dynamic_patch min_p min_tokens
  mm_payload model n no_stop_trim normalize output_config padding parallel_tool_calls
  presence_penalty previous_input_messages previous_response_id prompt prompt_cache_key
  prompt_cache_options prompt_cache_retention prompt_logprobs reasoning reasoning_effort regex
  repetition_penalty response_format return_cached_tokens_details
  return_flat_raw_output_top_logprobs return_flat_raw_top_logprobs_b64 return_hidden_states
  return_input_ids_in_sglext return_meta_info return_mm_kwargs return_output_ids_in_sglext
  return_prompt_text return_prompt_token_ids return_routed_experts return_sampling_mask
  return_spec_tokens_details return_token_ids return_token_offsets return_tokens_as_token_ids
  return_weight_versions routed_experts_prompt_start routed_experts_start_len safety_identifier
  sampling_logprobs_mode seed separate_reasoning service_tier skip_special_tokens
  spaces_between_special_tokens stop stop_sequences stop_token_ids store stream stream_options
  stream_reasoning structured_outputs suffix system task temperature text thinking
  thinking_token_budget tool_choice tools top_k top_logprobs top_p truncate_prompt_tokens
  truncation truncation_side use_activation use_audio_in_video use_beam_search user watermark
  watermarking
  `
    .trim()
    .split(/\s+/),
)

export type Fields = { readonly known: number; readonly unread: readonly string[] }

/** Undefined if the server does not describe its requests. */
export async function readRequestFields(url: string): Promise<Fields | undefined> {
  const response = await fetch(`${url}/openapi.json`)
  if (!response.ok) return undefined
  const description = (await response.json()) as Json
  const fields = new Set<string>()
  for (const path of paths) {
    const operation = description.paths?.[path]?.post
    const schema = operation?.requestBody?.content?.['application/json']?.schema
    if (schema !== undefined) addFields(schema, description, fields, new Set())
  }
  const unread = [...fields].filter((name) => !forbiddenFields.has(name) && !harmless.has(name))
  return { known: fields.size, unread: unread.sort() }
}

/** A body may be one of several schemas, each by reference. */
function addFields(schema: Json, description: Json, fields: Set<string>, seen: Set<string>): void {
  for (const name of Object.keys(schema.properties ?? {})) fields.add(name)
  for (const part of [schema.anyOf, schema.oneOf, schema.allOf].flat())
    if (part !== undefined) addFields(part, description, fields, seen)
  const { $ref } = schema
  if ($ref === undefined || seen.has($ref)) return
  seen.add($ref)
  addFields(description.components.schemas[$ref.split('/').at(-1)], description, fields, seen)
}
