/** `score`: assesses a backend by the factors that reviewers in this field publish. */
import { AttestationError } from '@privatemode/attestation'
import { bundleInputs, bundleOptions } from '../bundle/bundle-command.ts'
import { type Command, formatOptions, parseOptions } from '../command.ts'
import { readBytes, takeFiles } from '../manifest/read-manifest.ts'
import { type Score, scoreBundle } from './score-bundle.ts'

const { role: _role, ...workerOptions } = bundleOptions
const options = {
  ...workerOptions,
  gateway: { value: 'FILE', help: 'a bundle of the hosted proxy that prompts go through' },
  json: { help: 'prints one line of JSON instead' },
} as const

export const scoreCommand: Command = {
  summary: 'assesses a backend by the 45 factors of an open scorecard',
  help: `npm run -s verify -- score BUNDLE --at TIME (--log-key KEY | --manifest-digest DIGEST) [options]

Verifies an evidence bundle as \`bundle verify\` does and says of each factor whether it is met, with
what shows it. Nothing counts as met because it was not looked at. docs/scorecard.md explains the
factors. Exit code: 0 the backend is verified, 1 it is refused, whatever the number of factors.

${formatOptions(options)}`,
  run: async (args, { out, error }) => {
    const { files, rest } = takeFiles(args, 'BUNDLE')
    const given = parseOptions(options, rest)
    const gateway = given.gateway?.[0]
    try {
      const score = await scoreBundle(
        await readBytes(files[0] ?? ''),
        gateway === undefined ? undefined : await readBytes(gateway),
        await bundleInputs(given),
      )
      if (given.json !== undefined) out(JSON.stringify(score))
      else for (const line of formatScore(score)) out(line)
      return score.refusal === undefined ? 0 : 1
    } catch (cause) {
      if (!(cause instanceof AttestationError)) throw cause
      error(`refused: ${cause.message} (${cause.code})`)
      return 1
    }
  },
}

function formatScore({ factors, refusal }: Score): string[] {
  const lines = factors.map(
    ({ factor, verdict, evidence }, index) =>
      `${String(index + 1).padStart(2)}  ${verdict.padEnd(15)} ${factor.padEnd(32)} ${evidence}`,
  )
  const count = (verdict: string) => factors.filter((one) => one.verdict === verdict).length
  return [
    ...lines,
    '',
    `${count('met')} of ${factors.length} met, ${count('not met')} not met, ${count('not checked')} not checked, ${count('not applicable')} not applicable`,
    refusal === undefined ? 'VERIFIED' : `REFUSED: ${refusal}`,
  ]
}
