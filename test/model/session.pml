/*
 * The sealed session and its frames against an attacker who is the network and the gateway.
 *
 * Dolev-Yao: cryptography is perfect, everything sent is known to the attacker, and everything
 * received is chosen by the attacker from what it can know or make. So there are no channels: a
 * receiver takes any message the attacker could deliver. Drop, delay, repeat, reorder, splice,
 * reflect, truncate and redirect are all choices of that kind.
 *
 * What is printed is the trace of a run, which replay-session.ts plays against the real code.
 */

#include "session-keys.pml"

/*
 * The attacker shows evidence and a statement; the client takes the statement's key where the
 * evidence is of a machine in the manifest, made for this nonce, and bound to the statement.
 */
#ifdef NOT_IN_MANIFEST
#define IN_MANIFEST(machine) true
#else
#define IN_MANIFEST(machine) (machine != M)
#endif
#ifdef NO_NONCE
#define FOR_THIS_NONCE(machine) true
#else
#define FOR_THIS_NONCE(machine) (machine != OLD)
#endif
#ifdef STATEMENT_UNBOUND
#define BINDS(machine, offered) true
#else
#define BINDS(machine, offered) (machine == offered)
#endif
#define REFUSE(where) printf("refuse\n"); goto where

inline attest(candidates) {
  if :: machine = A :: machine = B :: machine = OLD :: machine = M fi;
  if :: offered = A :: offered = B :: offered = OLD :: offered = M fi;
  if
  :: IN_MANIFEST(machine) && FOR_THIS_NONCE(machine) && BINDS(machine, offered)
     -> printf("attest %d %d 1\n", machine, offered);
     candidates = candidates | (1 << offered)
  :: else -> printf("attest %d %d 0\n", machine, offered)
  fi;
  machine = 0; offered = 0
}

/* Phase 1: the client finds out whom to trust, wraps a fresh key for each, and sends. */
inline send_request(q) {
  candidates = 0;
  attest(candidates);
  attest(candidates);
  if :: candidates == 0 -> goto stopped :: else fi;
  mask[q] = candidates;
  sent[q] = true;
  printf("send %d %d\n", q, candidates);
  if
  :: HAS(candidates, OLD) || HAS(candidates, M) -> leaked[RK(q)] = true
  :: else
  fi;
  CHECK(SECRECY, !leaked[RK(q)]);
  candidates = 0
}

/* Phase 2: a worker takes what the attacker makes of the requests, and answers what it accepts. */
inline serve_request() {
  if :: me = A :: me = B fi;
  /* The wrapped key for this worker comes from request q; all else may be rewritten. */
  if :: HAS(mask[0], me) -> q = 0 :: HAS(mask[1], me) -> q = 1 :: else -> goto refused_request fi;
  if :: id = 0 :: id = 1 :: id = 3 fi;
  if :: path = 1 :: path = 0 fi;
  if :: claimed = mask[q] :: claimed = 1 << me :: claimed = (1 << A) | (1 << B) fi;
  /* The keys that are wrapped for others can be changed, where there are others. */
  if
  :: claimed == mask[q] -> wraps = q + 1
  :: claimed != mask[q] || claimed != (1 << me) -> wraps = 3
  fi;
  printf("serve %d %d %d %d %d %d\n", me, q, id, path, claimed, wraps);
  binding = BINDING(id, path, claimed);
  if :: WRAP(me, binding) != WRAP(me, HONEST_BINDING(q)) -> REFUSE(refused_request) :: else fi;
  if :: GUARDED && HAS(seen[me], id) -> REFUSE(refused_request) :: else fi;
  seen[me] = seen[me] | (1 << id);
  key = REQUEST_KEY(RK(q), DIGEST(binding, wraps));
  do
  :: CUT_REQUEST_ENDS && at > 0 -> printf("cut\n"); break
  :: deliver(frame, key, RK(q));
     if :: !OPENS(frame, key, at) -> REFUSE(refused_request) :: else fi;
     CHECK(DIRECTION, frame.from != FROM_ANSWER);
     CHECK(AGREEMENT, frame.from == FROM_REQUEST && frame.index == q);
     CHECK(ORDER, frame.number == at);
     at++;
     if :: frame.last -> break :: else if :: at > FRAMES -> REFUSE(refused_request) :: else fi fi
  od;
  CHECK(COMPLETE, at == FRAMES && frame.number == FRAMES - 1);
  CHECK(AGREEMENT, id == q && path == 1 && claimed == mask[q] && wraps == q + 1);
  CHECK(ONCE, !HAS(acted[me], q));
  acted[me] = acted[me] | (1 << q);
  printf("answer\n");
  /* The salt is drawn now: no other answer has it. */
  key = ANSWER_KEY(RK(q), DIGEST(binding, wraps), me, answers + 1);
  require_fresh_answer_key(key);
  answer[answers].request = q;
  answer[answers].worker = me;
  answer[answers].key = key;
  answers++;
refused_request:
  forget()
}

/* Phase 3: one of the two exchanges, whichever the attacker likes, gets its answer. */
inline receive_answer() {
  if :: q = 0 :: q = 1 fi;
  /* The clear start: which candidate it says it is from, and a salt, seen or made up (0). */
  if
  :: HAS(mask[q], A) -> me = A
  :: HAS(mask[q], B) -> me = B
  fi;
  if :: salt = 0 :: salt = 1 :: salt = 2 :: salt = 3 :: salt = 4 :: salt = 5 fi;
  printf("receive %d %d %d\n", q, me, salt);
  key = ANSWER_KEY(RK(q), HONEST_DIGEST(q), me, salt);
  do
  :: CUT_ANSWER_ENDS && at > 0 -> printf("cut\n"); break
  :: deliver(frame, key, RK(q));
     if :: !OPENS(frame, key, at) -> REFUSE(stopped) :: else fi;
     CHECK(DIRECTION, frame.from != FROM_REQUEST);
     CHECK(AUTHENTIC, frame.from == FROM_ANSWER);
     CHECK(AUTHENTIC, frame.from != FROM_ANSWER || answer[frame.index].request == q);
     CHECK(AUTHENTIC, frame.from != FROM_ANSWER || answer[frame.index].worker == me);
     CHECK(AUTHENTIC, frame.from != FROM_ANSWER || at == 0 || whose == frame.index);
     CHECK(ORDER, frame.number == at);
     whose = frame.index;
     at++;
     if :: frame.last -> break :: else if :: at > FRAMES -> REFUSE(stopped) :: else fi fi
  od;
  CHECK(COMPLETE, at == FRAMES && frame.number == FRAMES - 1);
  printf("whole\n");
  assert(ONLY != VACUOUS)
}

inline forget() {
  me = 0; q = 0; id = 0; path = 0; claimed = 0; wraps = 0; at = 0; key = 0; binding = 0;
  frame.from = 0; frame.index = 0; frame.number = 0; frame.key = 0; frame.last = false
}

/*
 * What the attacker knows only grows, and what a receiver accepts depends on it and on the receiver
 * alone. So nothing is lost by sending first, serving whole requests next, and receiving last.
 */
init {
  byte candidates, machine, offered, me, q, id, path, claimed, wraps, at, salt, whose;
  byte seen[2], acted[2];
  int key, binding;
  Frame frame;

  atomic { send_request(0) }
  atomic { send_request(1) }
  atomic {
    /* Both requests use the client's one session with a worker. */
    CHECK(FRESH, WRAPS_DIFFER(A) && WRAPS_DIFFER(B));
    CHECK(FRESH, HONEST_REQUEST_KEY(0) != HONEST_REQUEST_KEY(1))
  }
  do
  :: atomic { answers < MAX_ANSWERS -> serve_request() }
  :: break
  od;
  atomic { receive_answer() }
stopped: skip
}
