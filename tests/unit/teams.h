/* Teams whose ranks are threads. The process is a node of one member; every rank has its own view
 * (struct team) and its own mailbox of one team. */
#ifndef UNIT_TEAMS_H
#define UNIT_TEAMS_H

#include "coll_inplace/coll.h"
#include "tests/unit/windows.h"

static struct team *team_of[UNIT_RANKS_MAX];

/* The second one is 0 in an intracommunicator. */
static unsigned group_size[2];

static inline bool is_inter(void)
{
    return group_size[1];
}

static inline unsigned group_of(unsigned rank)
{
    return rank >= group_size[0];
}

static inline unsigned first_of(unsigned group)
{
    return group ? group_size[0] : 0;
}

/* As if there had been `number` operations, barriers and pieces of streams. */
static inline void set_numbers(unsigned size, uint32_t number)
{
    for (unsigned r = 0; r < size; r++) {
        struct team *t = team_of[r];
        t->op = t->published = t->reusable = t->barrier.rounds = number;
        atomic_store(&t->mine->done.value, number);
        atomic_store(&t->mine->produced.value, number);
        atomic_store(&t->mine->consumed.value, number);
        if (t->common)
            atomic_store(&t->common->flags[r].entered.value, number);
        for (uint32_t back = 0; back < TEAM_SLOTS; back++)
            atomic_store(&slot_of(t->own_ring, number - back)->op.value, number - back);
    }
}

static inline void make_team(unsigned size)
{
    struct team_offer offers[UNIT_RANKS_MAX];
    open_heap();
    group_size[0] = size;
    group_size[1] = 0;
    for (unsigned r = 0; r < size; r++)
        team_of[r] = team_prepare(size, r, 0, &offers[r]);
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(team_settle(team_of[r], offers, size), REASON_NONE);
}

/* The teams of both groups of an intercommunicator. */
static inline void make_groups(unsigned a, unsigned b, bool can_access_peers)
{
    struct team_offer offers[UNIT_RANKS_MAX];
    open_heap();
    group_size[0] = a;
    group_size[1] = b;
    for (unsigned r = 0; r < a + b; r++) {
        unsigned g = group_of(r);
        team_of[r] =
            team_prepare_between(group_size[g], r - first_of(g), group_size[!g], 0, &offers[r]);
        offers[r].can_access_peers &= can_access_peers;
    }
    for (unsigned r = 0; r < a + b; r++) {
        unsigned other = !group_of(r);
        ck_assert_int_eq(team_settle(team_of[r], offers + first_of(other), group_size[other]),
                         REASON_NONE);
    }
}

/* All ranks are in one list. Rank 0 may be before those for which it waits. */
static inline void reap_all(void)
{
    team_reap();
    team_reap();
}

static inline void leave_team(unsigned me)
{
    team_leave(team_of[me]);
}

static inline void free_team(unsigned size)
{
    as_ranks(size, leave_team);
    reap_all();
}

#endif
