/*
 * Properties, keys and frames of session.pml: what there is, and what an opener checks of it.
 *
 * A key is the tuple of what it is derived from, packed into a number: two keys are the same
 * exactly where their inputs are, and an input that is absent counts as zero. A mutant leaves one
 * input or one check out (-DNAME). -DONLY=n checks one property alone; 0 checks all.
 * docs/protocol-model.md explains both.
 */

#ifndef ONLY
#define ONLY 0
#endif
#define SECRECY 1     /* the attacker learns no request key */
#define AUTHENTIC 2   /* a frame the client takes was sealed for this request by this worker */
#define ORDER 3       /* ... and stands where it was sealed */
#define COMPLETE 4    /* what ends, ends where the sender ended it */
#define DIRECTION 5   /* no side takes a frame of its own direction */
#define AGREEMENT 6   /* a worker acts on exactly what the client sent: context, recipients, body */
#define ONCE 7        /* a worker acts on a request once */
#define FRESH 8       /* no key seals two texts under one nonce */
#define VACUOUS 9     /* must be violated: an exchange can come to its end */
#define CHECK(property, holds) assert((ONLY != 0 && ONLY != property) || (holds))

/* Seal keys: A and B are of attested workers, OLD is a key of A's that leaked later, M the attacker's. */
#define A 0
#define B 1
#define OLD 2
#define M 3
#define HAS(mask, key) (((mask) >> (key)) & 1)

/* The client draws a request key for each request. */
#ifdef SAME_REQUEST_KEY
#define RK(q) 0
#else
#define RK(q) (q)
#endif

#ifdef CONTEXT_UNBOUND
#define BOUND_CONTEXT(id, path) 0
#else
#define BOUND_CONTEXT(id, path) ((id) | ((path) << 2))
#endif
#ifdef RECIPIENTS_UNBOUND
#define BOUND_MASK(mask) 0
#else
#define BOUND_MASK(mask) (mask)
#endif
#define BINDING(id, path, mask) (BOUND_CONTEXT(id, path) | (BOUND_MASK(mask) << 3))

/* The wrapping key of the client's session with the worker of `key`. */
#ifdef WRAP_UNBOUND
#define WRAP(key, binding) (key)
#else
#define WRAP(key, binding) ((key) | ((binding) << 2))
#endif

/* `wraps` names the list of wrapped keys: q+1 as request q has it, 3 a changed one. */
#ifdef WRAPS_UNBOUND
#define DIGEST(binding, wraps) (binding)
#else
#define DIGEST(binding, wraps) ((binding) | ((wraps) << 7))
#endif
#ifdef FRAMES_UNBOUND
#define BOUND_DIGEST(digest) 0
#else
#define BOUND_DIGEST(digest) (digest)
#endif

#define TO_WORKER 0
#ifdef ONE_DIRECTION
#define TO_CLIENT 0
#else
#define TO_CLIENT 1
#endif
#ifdef NO_WORKER_IN_KEY
#define BOUND_WORKER(worker) 0
#else
#define BOUND_WORKER(worker) (worker)
#endif
#ifdef NO_SALT
#define BOUND_SALT(salt) 0
#else
#define BOUND_SALT(salt) (salt)
#endif
#define REQUEST_KEY(rk, digest) (TO_WORKER | ((rk) << 1) | (BOUND_DIGEST(digest) << 3))
#define ANSWER_KEY(rk, digest, worker, salt) (TO_CLIENT | ((rk) << 1) | \
  (BOUND_DIGEST(digest) << 3) | (BOUND_WORKER(worker) << 12) | (BOUND_SALT(salt) << 14))

/* A body is three frames; the third has the end record and the flag of the last frame. */
#define FRAMES 3
#define IS_END(frame) ((frame) == FRAMES - 1)

/* What the attacker has seen: requests that were sent, and answers, each with a salt of its own. */
bool sent[2];
byte mask[2];          /* recipients of a request, a bit for each seal key */
bool leaked[2];        /* request keys the attacker knows */
#define MAX_ANSWERS 5
byte answers;
typedef Answer { byte request; byte worker; int key };
Answer answer[MAX_ANSWERS];

#define HONEST_BINDING(q) BINDING(q, 1, mask[q])
#define HONEST_DIGEST(q) DIGEST(HONEST_BINDING(q), (q) + 1)
#define HONEST_REQUEST_KEY(q) REQUEST_KEY(RK(q), HONEST_DIGEST(q))

/* A frame the attacker delivers: whose it is, which of its sender's, under which key, and its flag. */
#define FROM_REQUEST 0
#define FROM_ANSWER 1
#define MADE_UP 2
typedef Frame { byte from; byte index; byte number; int key; bool last };

#ifdef CLEAR_TEXT
#define CAN_MAKE(rk) true
#else
#define CAN_MAKE(rk) leaked[rk]
#endif

/* Any frame seen so far, its flag as it was or flipped, or one made with a key the attacker has. */
inline deliver(frame, wanted_key, wanted_rk) {
  if
  :: sent[0] -> frame.from = FROM_REQUEST; frame.index = 0; frame.key = HONEST_REQUEST_KEY(0)
  :: sent[1] -> frame.from = FROM_REQUEST; frame.index = 1; frame.key = HONEST_REQUEST_KEY(1)
  :: answers > 0 -> frame.from = FROM_ANSWER; frame.index = 0; frame.key = answer[0].key
  :: answers > 1 -> frame.from = FROM_ANSWER; frame.index = 1; frame.key = answer[1].key
  :: answers > 2 -> frame.from = FROM_ANSWER; frame.index = 2; frame.key = answer[2].key
  :: answers > 3 -> frame.from = FROM_ANSWER; frame.index = 3; frame.key = answer[3].key
  :: answers > 4 -> frame.from = FROM_ANSWER; frame.index = 4; frame.key = answer[4].key
  :: CAN_MAKE(wanted_rk) -> frame.from = MADE_UP; frame.index = 0; frame.key = wanted_key
  fi;
  if :: frame.number = 0 :: frame.number = 1 :: frame.number = 2 fi;
  if :: frame.last = IS_END(frame.number) :: frame.last = !IS_END(frame.number) fi;
  printf("frame %d %d %d %d\n", frame.from, frame.index, frame.number, frame.last)
}

/* What an opener checks of a frame at position `at`. A refusal ends the exchange: it stays refused. */
#ifdef NO_COUNTER
#define IN_PLACE(frame, at) true
#else
#define IN_PLACE(frame, at) (frame.number == at)
#endif
#ifdef FLAG_NOT_AUTHENTIC
#define FLAG_FITS(frame) true
#else
#define FLAG_FITS(frame) (frame.last == IS_END(frame.number))
#endif
#ifdef END_RECORD_ANYWHERE
#define GRAMMAR_FITS(frame) true
#else
#define GRAMMAR_FITS(frame) (frame.last == IS_END(frame.number))
#endif
#define OPENS(frame, wanted_key, at) \
  (frame.key == wanted_key && IN_PLACE(frame, at) && FLAG_FITS(frame) && GRAMMAR_FITS(frame))

#ifdef NO_REPLAY_GUARD
#define GUARDED false
#else
#define GUARDED true
#endif
#ifdef CUT_REQUEST_IS_WHOLE
#define CUT_REQUEST_ENDS true
#else
#define CUT_REQUEST_ENDS false
#endif
#ifdef CUT_ANSWER_IS_WHOLE
#define CUT_ANSWER_ENDS true
#else
#define CUT_ANSWER_ENDS false
#endif

#define WRAPS_DIFFER(worker) (!HAS(mask[0], worker) || !HAS(mask[1], worker) || \
  WRAP(worker, HONEST_BINDING(0)) != WRAP(worker, HONEST_BINDING(1)))

/* Whether a key that is about to seal has sealed something else before. */
inline require_fresh_answer_key(new_key) {
  CHECK(FRESH, !(sent[0] && HONEST_REQUEST_KEY(0) == new_key));
  CHECK(FRESH, !(sent[1] && HONEST_REQUEST_KEY(1) == new_key));
  CHECK(FRESH, !(answers > 0 && answer[0].key == new_key));
  CHECK(FRESH, !(answers > 1 && answer[1].key == new_key));
  CHECK(FRESH, !(answers > 2 && answer[2].key == new_key));
  CHECK(FRESH, !(answers > 3 && answer[3].key == new_key))
}
