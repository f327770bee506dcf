/** Describes why a sign-in through an identity provider failed. */
import type { Described } from './describe-failure.ts'

/** The name comes from the address, which anyone can write: unknown ones get a generic text. */
export function describeSignInFailure(name: string): Described {
  switch (name) {
    case 'not_begun':
      return {
        reason: 'this sign-in was not begun in this browser, or too long ago',
        next: 'Begin again here, and finish within ten minutes.',
      }
    case 'not_member':
      return {
        reason: 'your organisation knows you, but nobody with your address is a member here',
        next: 'Ask an admin for an invitation, for the address that your organisation has of you.',
      }
    case 'unreachable':
      return {
        reason: 'the identity provider of your organisation cannot be reached',
        next: 'Try again in a moment, or sign in with a password. If it goes on, tell the operator.',
      }
    default:
      return {
        reason: 'your organisation did not confirm the sign-in',
        next: 'Try again. If it happens again, tell the operator.',
      }
  }
}
