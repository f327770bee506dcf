/** Clients that read or write slowly, alongside others that do not. */
import type { Fault, Scene } from '../fault.ts'
import { makeQuestion } from '../load/question.ts'
import { type Asking, exchange } from '../load/raw-exchange.ts'
import { judge } from '../load/verdict.ts'

function slowClients(name: string, count: number, how: Partial<Asking>): Fault {
  const answers: string[] = []
  return {
    name,
    family: 'client',
    holdMs: 0,
    limitMs: 15_000,
    async inject(scene) {
      answers.length = 0
      const verdicts = await Promise.all(
        Array.from({ length: count }, (_, index) => ask(scene, index, how)),
      )
      answers.push(...verdicts.filter((verdict) => verdict !== 'right'))
      scene.note(`${count} clients, ${count - answers.length} right answers`)
      return () => {}
    },
    check: async () => answers.filter((answer) => answer.startsWith('violation')),
  }
}

async function ask({ fleet, chance }: Scene, index: number, how: Partial<Asking>): Promise<string> {
  const shape = { kind: 'chat', stream: true, words: 400, paceMs: 1, padBytes: 200 } as const
  const question = makeQuestion(fleet.marker, `slow-${index}-${chance.between(0, 2 ** 31)}`, shape)
  const asking = { path: question.path, body: question.body, timeoutMs: 60_000, ...how }
  const verdict = judge(question, await exchange({ port: fleet.proxyPort }, asking))
  return verdict.kind === 'right' ? 'right' : `${verdict.kind}: ${verdict.what}`
}

export const clientFaults: readonly Fault[] = [
  slowClients('slow readers', 30, { readPauseMs: 100 }),
  slowClients('slow writers', 30, { writeBytes: 3 }),
]
