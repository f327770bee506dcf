/** The committed inputs: few, short, one file of base64 for each target. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const maxInputs = 24
const maxInputBytes = 2048

const fileOf = (folder: string, target: string) =>
  join(folder, `${target.replaceAll(' ', '-')}.json`)

export function readCorpus(folder: string, target: string): Uint8Array[] {
  const file = fileOf(folder, target)
  if (!existsSync(file)) return []
  const list = JSON.parse(readFileSync(file, 'utf8')) as string[]
  return list.map((base64) => new Uint8Array(Buffer.from(base64, 'base64')))
}

/** The shortest are kept: they cover the same with less. */
export function writeCorpus(folder: string, target: string, inputs: readonly Uint8Array[]): void {
  const list = [...new Set(inputs.map((input) => Buffer.from(input).toString('base64')))]
    .filter((base64) => base64.length <= (maxInputBytes * 4) / 3)
    .sort((a, b) => a.length - b.length)
    .slice(0, maxInputs)
  if (list.length > 0) writeFileSync(fileOf(folder, target), `${JSON.stringify(list, null, 2)}\n`)
}
