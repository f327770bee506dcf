import { expect, test } from 'bun:test'
import { AttestationError, Transcript } from './verdict.ts'

test('a failed check ends the transcript and carries it in the refusal', () => {
  const transcript = new Transcript()
  transcript.pass('snp/version', '2')
  const refuse = () =>
    transcript.require(false, 'snp/debug', 'debug_enabled', 'policy bit 19 is set')
  expect(refuse).toThrow(AttestationError)
  expect(transcript.checks.map((check) => check.result)).toEqual(['passed', 'failed'])
})
