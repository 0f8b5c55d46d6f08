/* MPI_Barrier. In an intracommunicator: core/barrier.h. In an intercommunicator each rank waits for
 * an empty slot of every rank of the other group. */
#include "coll_inplace/coll.h"

static void barrier_between_groups(struct team *t)
{
    uint32_t op = team_begin(t);
    team_wait_slot(t);
    team_publish(t, op, SLOT_INLINE, 0);
    for (uint32_t r = 0; r < t->size; r++)
        team_wait(t, r, op);
    team_note_all_done(t, op - 1);
    team_end(t);
}

void coll_barrier(struct team *t)
{
    if (UNLIKELY(!t->common)) {
        if (!t->alone)
            barrier_between_groups(t);
        return;
    }
    barrier_wait(&t->barrier);
    team_note_all_done(t, t->op);
    team_reap_in_passing();
}
