/** The properties that the models must satisfy, and mutants that each omit protections. */

export type Model = 'session' | 'replay-guard'

/** Numbers as defined in the models; `0` checks all at once. */
export const properties = {
  secrecy: { number: 1, says: 'the attacker learns no request key, so no content' },
  authenticity: {
    number: 2,
    says: 'every frame the client accepts was sealed for this request by the worker it names',
  },
  order: { number: 3, says: 'every frame is at the position where its sender put it' },
  'no truncation': {
    number: 4,
    says: 'a receiver accepts as complete only what the sender completed',
  },
  'no reflection': {
    number: 5,
    says: 'neither side accepts a frame that was sent in the other direction',
  },
  agreement: {
    number: 6,
    says: 'a worker acts on exactly the path, model, id, recipients and body that the client sent',
  },
  'no replay': { number: 7, says: 'a worker acts on a request once, whatever its clock shows' },
  'fresh nonces': { number: 8, says: 'no key seals two texts under one nonce' },
} as const

export type Property = keyof typeof properties

/** Not a property but a check of the model itself: a complete exchange must be reachable. */
export const reachability = 9

export type Mutant = {
  readonly model: Model
  /** The names that the model's source tests with `#ifdef`. */
  readonly without: readonly string[]
  readonly means: string
  /** `none`: another protection covers it, so all properties must still hold. */
  readonly breaks: Property | 'none'
}

const mutantOf =
  (model: Model) =>
  (means: string, breaks: Mutant['breaks'], ...without: string[]): Mutant => ({
    model,
    without,
    means,
    breaks,
  })
const session = mutantOf('session')
const guard = mutantOf('replay-guard')

export const mutants: readonly Mutant[] = [
  session('the manifest does not decide which machine is good', 'secrecy', 'NOT_IN_MANIFEST'),
  session('evidence is not made for a fresh nonce', 'secrecy', 'NO_NONCE'),
  session("evidence is not bound to the worker's key", 'secrecy', 'STATEMENT_UNBOUND'),
  session('clear text counts as an answer', 'authenticity', 'CLEAR_TEXT'),
  session("no worker's id in the answer key", 'authenticity', 'NO_WORKER_IN_KEY'),
  session(
    'one request key for all, and neither context nor salt in frame keys',
    'authenticity',
    'SAME_REQUEST_KEY',
    'FRAMES_UNBOUND',
    'NO_SALT',
  ),
  session('no counter in the nonce', 'order', 'NO_COUNTER'),
  session('a cut answer counts as whole', 'no truncation', 'CUT_ANSWER_IS_WHOLE'),
  session('a cut request counts as whole', 'no truncation', 'CUT_REQUEST_IS_WHOLE'),
  session(
    'the flag of the last frame is not authenticated, and the end record may be anywhere',
    'no truncation',
    'FLAG_NOT_AUTHENTIC',
    'END_RECORD_ANYWHERE',
  ),
  session('one label for both directions', 'no reflection', 'ONE_DIRECTION'),
  session('keys are not bound to path, model and id', 'agreement', 'CONTEXT_UNBOUND'),
  session('frame keys are not bound to the prelude', 'agreement', 'FRAMES_UNBOUND'),
  session('frame keys are not bound to the wrapped keys', 'agreement', 'WRAPS_UNBOUND'),
  session('nothing is bound to the recipients', 'agreement', 'RECIPIENTS_UNBOUND', 'WRAPS_UNBOUND'),
  session('a worker remembers no requests', 'no replay', 'NO_REPLAY_GUARD'),
  session('keys are not bound to the request id', 'no replay', 'CONTEXT_UNBOUND'),
  session('wrapping keys are not bound to the request', 'fresh nonces', 'WRAP_UNBOUND'),
  session(
    'one request key for all, and no context in frame keys',
    'fresh nonces',
    'SAME_REQUEST_KEY',
    'FRAMES_UNBOUND',
  ),
  session(
    "neither salt nor worker's id in the answer key",
    'fresh nonces',
    'NO_SALT',
    'NO_WORKER_IN_KEY',
  ),
  session(
    'no salt in the answer key, and no memory of requests',
    'fresh nonces',
    'NO_SALT',
    'NO_REPLAY_GUARD',
  ),
  guard('requests are not remembered', 'no replay', 'NO_MEMORY'),
  guard('nothing is left of what is forgotten', 'no replay', 'NO_FLOOR'),
  guard('one generation of memory', 'no replay', 'ONE_GENERATION'),
  session('one request key for all', 'none', 'SAME_REQUEST_KEY'),
  session('no salt in the answer key', 'none', 'NO_SALT'),
  session('the flag of the last frame is not authenticated', 'none', 'FLAG_NOT_AUTHENTIC'),
  session('the end record may be anywhere', 'none', 'END_RECORD_ANYWHERE'),
  session('wrapping keys are not bound to the recipients', 'none', 'RECIPIENTS_UNBOUND'),
  guard('requests of any age are taken', 'none', 'NO_AGE'),
]
