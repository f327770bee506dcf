import { expect, test } from 'bun:test'
import { AttestationError, type PrivateClient } from '@privatemode/sdk'
import { createLog } from '@privatemode/service'
import { keepVerified } from './keep-verified.ts'

test.each([
  ['software', 'software/verifier: none', true],
  ['software', 'software/chain/root: another one', false],
  ['hardware', 'software/verifier: none', false],
])(
  'a %s manifest and the refusal %p: the flags of a trial are named is %p',
  async (evidence, message, named) => {
    const client = {
      loadManifest: () => Promise.reject(new AttestationError('software_refused', message)),
      verification: () => ({ manifest: { evidence } }),
    } as unknown as PrivateClient
    const written = Promise.withResolvers<string>()
    const log = createLog({ format: 'text', level: 8, write: written.resolve })
    const keeper = keepVerified(client, undefined, log, () => {})
    const line = await written.promise
    keeper.stop()
    expect(line).toContain('code=software_refused')
    expect(line.includes('--allowSoftwareAttestation')).toBe(named)
    expect(line).toContain(keeper.cause()?.detail ?? 'no cause')
  },
)
