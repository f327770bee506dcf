/** Where the time goes: the tables of stages, and what the next step would be. */
import type { Stage } from './least-us.ts'
import type { Stages } from './stage-costs.ts'

export function formatStages({ chat, chunk, prompt, bare }: Stages): string[] {
  return [
    '## Where the time goes',
    '',
    'The stages of the proxy, each measured on its own in a loop: the least processor time of many tries. In the running program the',
    'same stages cost more, since between two of them the caches hold something else, and the collector and the event loop come on',
    'top; the tables below have the whole. The bare primitives are the hashes, derivations and ciphers that the format asks for, on',
    'the same bytes and nothing else.',
    '',
    ...table('a small chat', chat, bare.chat),
    ...table('one chunk of a stream, in a frame of its own', chunk, bare.chunk),
    ...table('a prompt of 10 MB', prompt, bare.prompt),
    ...nextSteps,
  ]
}

function table(title: string, stages: readonly Stage[], bareUs: number): string[] {
  const total = stages.reduce((sum, { us }) => sum + us, 0)
  const part = (us: number) => `${((us * 100) / total).toFixed(0)}%`
  return [
    `| ${title} | CPU µs | part |`,
    '|---|---|---|',
    ...stages.map(({ name, us }) => `| ${name} | ${us.toFixed(2)} | ${part(us)} |`),
    `| **together** | ${total.toFixed(2)} | |`,
    `| bare primitives on the same bytes | ${bareUs.toFixed(2)} | ${part(bareUs)} |`,
    '',
  ]
}

const nextSteps = [
  '**What the next step would be.** For a small chat: ciphers, hashes and the sockets are what is left, and each cipher costs a native object',
  'and three buffers for a microsecond of AES; a runtime call that seals into a given buffer would halve that. For a chunk: the same call,',
  'and a read that hands out a view of the receive buffer instead of a copy. For long prompts: both of these, since every buffer that a socket',
  'or a cipher gives out is a copy, counts towards the next run of the collector, and is given back the moment it is done with: memory that is',
  'new to the process costs more than encrypting what is in it.',
  '',
]
