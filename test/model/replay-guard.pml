/*
 * The worker's memory of requests, whose clock is in the hands of the worker's host.
 *
 * Requests have times of issue; the attacker sets the clock to anything before each delivery and
 * delivers any request again and again. Two generations of memory, a floor where one is forgotten:
 * step by step as packages/protocol/src/envelope/replay-guard.ts does it. Mutants as in session.pml; the trace that is
 * printed is played against that code.
 */

#ifndef ONLY
#define ONLY 0
#endif
#define ONCE 7        /* no request is accepted twice */
#define VACUOUS 9     /* must be violated: all requests can be accepted */

#define REQUESTS 3
#define END_OF_TIME 7
#define MAX_AGE 1
#define MAX_AHEAD 1
#define WINDOW (MAX_AGE + MAX_AHEAD)
#define HAS(set, id) (((set) >> (id)) & 1)

#ifdef NO_MEMORY
#define REMEMBERED(id) false
#else
#define REMEMBERED(id) (HAS(current, id) || HAS(previous, id))
#endif
#ifdef NO_FLOOR
#define BELOW_FLOOR(time) false
#else
#define BELOW_FLOOR(time) (time <= floor)
#endif
#ifdef NO_AGE
#define RECENT(time) true
#else
#define RECENT(time) (now <= time + MAX_AGE && time <= now + MAX_AHEAD)
#endif
#ifdef ONE_GENERATION
#define KEPT 0
#else
#define KEPT current
#endif

inline refuse() { printf("refuse %d %d %d\n", id, issued[id], now); goto next }

init {
  byte issued[REQUESTS];       /* 1 or later: 0 stands for "never" */
  byte accepted, current, previous, current_latest, previous_latest, floor;
  byte now = 1, turned, id;

  atomic { do :: now < END_OF_TIME -> now++ :: break od; turned = now; printf("start %d\n", now) }
  do
  :: id < REQUESTS ->
    atomic { issued[id] = 1; do :: issued[id] < END_OF_TIME -> issued[id]++ :: break od; id++ }
  :: else -> break
  od;
  do
  :: atomic {
      id = 0; do :: id < REQUESTS - 1 -> id++ :: break od;
      now = 1; do :: now < END_OF_TIME -> now++ :: break od;
      if :: !RECENT(issued[id]) -> refuse() :: else fi;
      if
      :: now >= turned + WINDOW || turned >= now + WINDOW ->
        if :: previous_latest > floor -> floor = previous_latest :: else fi;
        previous = KEPT;
        previous_latest = current_latest;
        current = 0;
        current_latest = 0;
        turned = now
      :: else
      fi;
      if :: BELOW_FLOOR(issued[id]) || REMEMBERED(id) -> refuse() :: else fi;
      assert((ONLY != 0 && ONLY != ONCE) || !HAS(accepted, id));
      printf("accept %d %d %d\n", id, issued[id], now);
      accepted = accepted | (1 << id);
      current = current | (1 << id);
      if :: issued[id] > current_latest -> current_latest = issued[id] :: else fi;
      assert(ONLY != VACUOUS || accepted != (1 << REQUESTS) - 1);
next: id = 0; now = 0
    }
  od
}
