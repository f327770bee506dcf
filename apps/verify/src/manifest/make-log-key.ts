/** `manifest key`: creates the signing key of a log or a witness. */
import { open } from 'node:fs/promises'
import { createNoteSigner } from '@privatemode/attestation'
import { type Command, formatOptions, parseOptions, required, UsageError } from '../command.ts'

const options = {
  name: { value: 'NAME', help: 'where the log will be found, such as manifests.example/log' },
  out: {
    value: 'FILE',
    help: 'the secret key is written here; an existing file is never replaced',
  },
  for: { value: 'log|witness', help: 'what the key will sign; log if unset' },
} as const

export const makeLogKey: Command = {
  summary: 'creates the signing key of a log or a witness, and prints the public key',
  help: `npm run -s verify -- manifest key --name NAME --out FILE\n\n${formatOptions(options)}`,
  run: async (args, { out }) => {
    const given = parseOptions(options, args)
    const name = required(given.name, 'name')
    if (!/^[^\s+]{1,200}$/u.test(name)) throw new UsageError('--name has a space or a plus sign')
    const purpose = given.for?.[0] ?? 'log'
    if (purpose !== 'log' && purpose !== 'witness') {
      throw new UsageError(`--for is ${purpose}, expected log or witness`)
    }
    const type = purpose === 'log' ? 'ed25519' : 'cosignature/v1'
    const { text, verifierKey } = await createNoteSigner(name, type)
    await writeNew(required(given.out, 'out'), `${text}\n`)
    out(verifierKey)
    return 0
  },
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(text)
    await file.close()
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : `${path}: not written`, { cause })
  }
}
