/** Where the time goes: the tables of stages, and the possible next steps. */
import type { Stage } from './least-us.ts'
import type { Stages } from './stage-costs.ts'

export function formatStages({ chat, chunk, prompt, bare }: Stages): string[] {
  return [
    '## Where the time goes',
    '',
    'The stages of the proxy, each measured separately in a loop: the minimum CPU time of many tries. In the running program the same',
    'stages cost more, since caches are colder between them and the garbage collector and the event loop add to it; the tables below show',
    'the total. The bare primitives are the hashes, derivations and ciphers that the format requires, on the same bytes and nothing else.',
    '',
    ...stageTable('a small chat', chat, bare.chat),
    ...stageTable('one chunk of a stream, in a frame of its own', chunk, bare.chunk),
    ...stageTable('a prompt of 10 MB', prompt, bare.prompt),
    ...nextSteps,
  ]
}

/** With the bare primitives in the last row, if they were measured. */
export function stageTable(title: string, stages: readonly Stage[], bareUs?: number): string[] {
  const total = stages.reduce((sum, { us }) => sum + us, 0)
  const part = (us: number) => `${((us * 100) / total).toFixed(0)}%`
  const bare = (us: number) =>
    `| bare primitives on the same bytes | ${us.toFixed(2)} | ${part(us)} |`
  return [
    `| ${title} | CPU µs | part |`,
    '|---|---|---|',
    ...stages.map(({ name, us }) => `| ${name} | ${us.toFixed(2)} | ${part(us)} |`),
    `| **together** | ${total.toFixed(2)} | |`,
    ...(bareUs === undefined ? [] : [bare(bareUs)]),
    '',
  ]
}

const nextSteps = [
  'Possible next steps:',
  '',
  '- **Small chat**: ciphers, hashes and sockets are what remains, and each cipher costs a native object and three buffers for a microsecond',
  '  of AES. A runtime call that seals into a given buffer would halve that.',
  '- **Chunk**: the same call, and a read that returns a view of the receive buffer instead of a copy.',
  '- **Long prompts**: both of these. Every buffer that a socket or a cipher returns is a copy, counts towards the next garbage collection,',
  '  and is released as soon as it is no longer needed: memory that is new to the process costs more than encrypting its contents.',
  '',
]
