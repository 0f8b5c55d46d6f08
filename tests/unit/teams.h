/* Teams whose ranks are threads. The process is a node of one member; every rank has a view of its
 * own (struct team), and a row, of one team. */
#ifndef UNIT_TEAMS_H
#define UNIT_TEAMS_H

#include "alloc/locality.h"
#include "coll_inplace/coll.h"
#include "tests/unit/windows.h"

static struct team *team_of[UNIT_RANKS_MAX];

/* As if `number` operations, barriers and pieces of streams had been. */
static inline void set_numbers(unsigned size, uint32_t number)
{
    for (unsigned r = 0; r < size; r++) {
        struct team *t = team_of[r];
        t->op = t->published = t->all_done = t->barrier.rounds = number;
        atomic_store(&t->mine->done.value, number);
        atomic_store(&t->mine->produced.value, number);
        atomic_store(&t->mine->consumed.value, number);
        atomic_store(&t->common->flags[r].entered.value, number);
        for (uint32_t back = 0; back < TEAM_SLOTS; back++)
            atomic_store(&slot_of(t->mine, number - back)->op.value, number - back);
    }
}

/* Up to so many, of any sizes, and who is in none; 0: as it is here. */
static unsigned domains_of_teams;

static inline void choose_domains(struct team_offer *offers, unsigned size)
{
    struct chance chance = {size};
    for (unsigned r = 0; r < size; r++) {
        unsigned domain = below(&chance, domains_of_teams + 1);
        offers[r].domain = domain ? domain : LOCALITY_UNKNOWN;
    }
}

/* All ranks are threads of the one member of the node. */
static inline void make_team(unsigned size)
{
    struct team_offer offers[UNIT_RANKS_MAX];
    open_heap();
    for (unsigned r = 0; r < size; r++)
        team_of[r] = team_prepare(size, r, 0, &offers[r]);
    if (domains_of_teams)
        choose_domains(offers, size);
    for (unsigned r = 0; r < size; r++)
        ck_assert_int_eq(team_settle(team_of[r], offers, size), REASON_COUNT);
}

static inline void leave_team(unsigned me)
{
    team_leave(team_of[me]);
}

static inline void free_team(unsigned size)
{
    as_ranks(size, leave_team);
    team_reap();
}

#endif
