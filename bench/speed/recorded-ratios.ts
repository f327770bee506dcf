/** How much more our stages cost than the bare primitives on the same bytes: recorded, and compared. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Effort, Stage } from './least-us.ts'
import { measureStages, type Stages } from './stage-costs.ts'

export type Ratios = { readonly chat: number; readonly chunk: number; readonly prompt: number }

const path = join(import.meta.dir, 'recorded-ratios.json')
const effort: Effort = { tries: 40, calls: 250 }

/** The cost of sockets is the kernel's, and not part of a comparison with ciphers. */
export function ratiosOf({ chat, chunk, prompt, bare }: Stages): Ratios {
  const own = (stages: readonly Stage[]) =>
    stages.reduce((sum, { name, us }) => sum + (name.startsWith('sockets') ? 0 : us), 0)
  return {
    chat: own(chat) / bare.chat,
    chunk: own(chunk) / bare.chunk,
    prompt: own(prompt) / bare.prompt,
  }
}

export const readRecorded = () => JSON.parse(readFileSync(path, 'utf8')) as Ratios

const measureRatios = async () => ratiosOf(await measureStages(effort))

/** Measures until `isEnough` says so of the least costs seen so far, at least twice and at most `tries` times. */
export async function leastRatios(
  tries: number,
  isEnough: (ratios: Ratios) => boolean,
): Promise<Ratios> {
  let least = leastOf(await measureStages(effort), await measureStages(effort))
  for (let done = 2; done < tries && !isEnough(ratiosOf(least)); done++) {
    least = leastOf(least, await measureStages(effort))
  }
  return ratiosOf(least)
}

/** The cheaper result of each stage and of the bare primitives, so that a disturbance changes no ratio. */
function leastOf(one: Stages, other: Stages): Stages {
  const cheaper = (part: keyof Ratios) =>
    one[part].map((stage, at) => ({
      ...stage,
      us: Math.min(stage.us, other[part][at]?.us ?? stage.us),
    }))
  const bare = (part: keyof Ratios) => Math.min(one.bare[part], other.bare[part])
  return {
    ...{ chat: cheaper('chat'), chunk: cheaper('chunk'), prompt: cheaper('prompt') },
    bare: { chat: bare('chat'), chunk: bare('chunk'), prompt: bare('prompt') },
  }
}

/** The median of three: a disturbance of the machine affects only some of them. */
export async function recordRatios(): Promise<Ratios> {
  const seen = [await measureRatios(), await measureRatios(), await measureRatios()]
  const middle = (part: keyof Ratios) => {
    const sorted = seen.map((ratios) => ratios[part]).toSorted((a, b) => a - b)
    return Math.round((sorted[1] ?? 0) * 100) / 100
  }
  const ratios = { chat: middle('chat'), chunk: middle('chunk'), prompt: middle('prompt') }
  writeFileSync(path, `${JSON.stringify(ratios, null, 2)}\n`)
  return ratios
}
