#include "coll_inplace/pace.h"

#include "alloc/reach.h"
#include "coll_inplace/choose.h"
#include "core/config.h"

enum { NEVER, ALWAYS, AS_MEASURED }; /* MPIACCEL_KERNEL_COPIES */

static void begin_turn(struct pace *pace)
{
    pace->filled = pace->stayed = 0;
    pace->bytes = 0;
    pace->best = UINT64_MAX;
}

struct pace pace_begin(bool reaches, _Atomic uint32_t *turn)
{
    struct pace pace = {.op = UINT32_MAX};
    begin_turn(&pace);
    if (!reaches || config.kernel_copies == NEVER)
        return pace;
    if (config.kernel_copies == ALWAYS || !turn) {
        pace.fetches = true;
        return pace;
    }
    pace.turn = turn;
    pace.limit = reach_ticks(PACE_SAMPLE) * CHOOSE_FILL / 100;
    return pace;
}

void pace_look_again(struct pace *pace)
{
    pace->fetches = !pace->fetches;
    if (pace->fetches && (!pace->patience || pace->looks > PACE_TRIAL))
        pace->patience = 1;
    else if (pace->fetches && pace->patience < PACE_PATIENCE)
        pace->patience *= 2;
    pace->looks = pace->doubts = 0;
    begin_turn(pace);
}

/* The cells were slow for so long that it is the kernel's turn. */
static bool are_too_slow(struct pace *pace)
{
    bool slow = pace->best > pace->limit, doubtful = slow && pace->best <= 2 * pace->limit;
    pace->doubts = doubtful && pace->patience ? pace->doubts + 1 : 0;
    return slow && (!pace->doubts || pace->doubts > PACE_DOUBTS);
}

void pace_change(struct pace *pace)
{
    if (pace->fetches || are_too_slow(pace))
        atomic_store_explicit(pace->turn, !pace->fetches, memory_order_relaxed);
    begin_turn(pace);
}
