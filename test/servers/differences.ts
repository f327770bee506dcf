/** Where a server other than vLLM answers differently from ours, and which of our answers is intended. */
import type { Ours } from './checks.ts'
import type { Json } from './entrances.ts'
import { modelName, type ServerName } from './real-server.ts'

/** Its own count of several choices, or of several prompts, is that of one of them. */
const countsOne: Ours = {
  holds: ({ choices, usage }: Json) => choices?.length === 2 && usage?.[1] >= 10,
  why: 'the server counts one choice only',
}

/** Its engine gives up on such a prompt after a while, and the server answers with what there is. */
const cutAnswer: Ours = {
  holds: ({ status }: Json) => status >= 500,
  why: 'an answer that the server cut is a failure',
}

export const differences: Partial<Record<ServerName, Readonly<Record<string, Ours>>>> = {
  'llama-server': {
    'chat: two choices': countsOne,
    'chat: two choices in a stream': countsOne,
    'completions: two choices': countsOne,
    'completions: several prompts': countsOne,
    'completions: lists of token ids': countsOne,
    'messages: stop_sequences': {
      holds: ({ content }: Json) => content?.[0]?.text === '1 2 3 4',
      why: 'the server does not tell in a chat which stop string was met',
    },
  },
  SGLang: {
    'messages: stop_sequences': {
      holds: ({ stop_reason, stop_sequence }: Json) =>
        stop_reason === 'stop_sequence' && stop_sequence === ' 5',
      why: 'the server does not tell in a message which stop sequence was met',
    },
  },
  Ollama: {
    'models: one': {
      holds: (names: Json) => names?.[0] === `${modelName}:latest`,
      why: 'the answer has the name of the list',
    },
    'chat: a prompt beyond the context': cutAnswer,
    'messages: a prompt beyond the context': cutAnswer,
    'responses: a prompt beyond the context': cutAnswer,
    'chat: a tool by its name': {
      holds: ({ choices }: Json) => choices?.[0]?.calls?.length === 0,
      why: 'the server ignores tool_choice',
    },
    'messages: count_tokens with tools': {
      holds: (tokens: Json) => tokens > 0,
      why: 'the server has no such path',
    },
  },
}
