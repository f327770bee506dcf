/** The subcommands about manifests. */
import { AttestationError } from '@privatemode/attestation'
import { type Command, UsageError } from '../command.ts'
import { buildManifest } from './build-manifest.ts'
import { checkManifest } from './check-manifest.ts'
import { diffManifests } from './diff-manifests.ts'
import { enrollMachine } from './enroll-machine.ts'
import { explainManifestFile } from './explain-manifest.ts'
import { makeLogKey } from './make-log-key.ts'
import { publishManifest } from './publish-manifest.ts'

const commands: Readonly<Record<string, Command>> = {
  build: buildManifest,
  check: checkManifest,
  explain: explainManifestFile,
  diff: diffManifests,
  enroll: enrollMachine,
  key: makeLogKey,
  publish: publishManifest,
}

export const manifestCommand: Command = {
  summary: 'builds, checks, explains, compares and publishes manifests, enrolls machines',
  help: Object.values(commands)
    .map(({ summary, help }) => `${summary}\n\n${help}`)
    .join('\n\n\n'),
  run: async ([name = '', ...rest], output) => {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    if (command === undefined) {
      throw new UsageError(`expected manifest ${Object.keys(commands).join('|')}`)
    }
    try {
      return await command.run(rest, output)
    } catch (error) {
      if (!(error instanceof AttestationError)) throw error
      output.error(`refused: ${error.message} (${error.code})`)
      return 1
    }
  },
}
