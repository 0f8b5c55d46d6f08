/* The teams of communicators that are created from a communicator with a team, their parent. No
 * message of the host is needed: what a rank contributes to the team of the child, its offer, goes
 * through the shared memory of the parent's team. So the child has its team in its first collective
 * call.
 *
 * All ranks of the parent create children from it in the same order. Each rank counts the creations
 * that have succeeded, so they agree on the number of a child. Before the host creates child k, the
 * rank publishes its offer for k: it stores the offer in a ring of CHILD_RING entries, and then,
 * with a release, k + 1 in `child_offers.count` of its mailbox. Every rank offers a struct
 * team_common, too, since any of them may become rank 0 of the child.
 *
 * The offer stays valid if the host refuses the call: a single rank may have made a call with wrong
 * arguments, and its offer serves the next creation. A creation inside another one (in a copy
 * function of an attribute) ends first, on all ranks, so it takes the number, and the rank
 * publishes another offer when the outer creation ends.
 *
 * The offers of the peers are read in the first collective call on the child. A reader waits until
 * the entry of each rank of the child contains k + 1, or, if a rank had no memory for a ring and so
 * declines everything, until its count has reached k + 1. In practice it never waits (H15: no
 * synchronisation that the host does not have): each rank of the parent has published its offer
 * before it entered the host, and no host returns from a creation before all ranks have entered it,
 * since they agree on a context. The child has a team if the parent had one, which all its ranks
 * know, and no rank of the child declines in its offer (H13: the same decision on all ranks).
 * Otherwise they exchange offers through the host, as for a communicator without a parent.
 *
 * A rank may overwrite an entry only after all ranks have read it. Before it publishes k, a rank
 *   1. waits until all ranks have published k - CHILD_WINDOW, so each count is at least
 *      k - CHILD_WINDOW + 1;
 *   2. copies the offers for child k - CHILD_WINDOW to private memory, if this child is alive and
 *      has not read its offers. By step 1 they have been published.
 * So a rank with the count j + 1 needs no entry of a child up to j - CHILD_WINDOW any more. The
 * entry that the rank overwrites with k belonged to child k - CHILD_RING = (k - CHILD_WINDOW) -
 * CHILD_WINDOW, and by step 1 all counts are at least (k - CHILD_WINDOW) + 1. Step 1 reads the
 * lines of the peers only every CHILD_WINDOW creations or so. It does not rely on the host's
 * synchronisation. It lets a rank be CHILD_WINDOW creations ahead; hosts do not let a rank run
 * ahead at all, so in practice step 1 never waits either. A rank that leaves the parent's team
 * copies the offers for all children that have not read theirs. Afterwards the children do not need
 * the parent.
 *
 * A child that is freed before any operation gives its memory back at once: freeing is collective,
 * and all ranks perform the same operations, so no rank has accessed it. Some ranks may have read
 * the offers and others not, which makes no difference. Its memory becomes the offer for the next
 * child, so that a program which creates and frees communicators in a loop touches no new memory.
 * A rank declines while CHILD_UNUSED_MAX children have no team yet, so a program that keeps
 * thousands without using them takes no memory for most of them.
 *
 * If the host has refused a call of this rank because of its arguments, other ranks may have
 * performed the operation and still access the memory of all ranks, or may already have given back
 * their memory. So this rank neither accesses their memory nor uses its own again.
 *
 * Creations from one parent are made one after the other, as MPI requires. Other threads may use
 * and free its children meanwhile, and create children of other parents.
 */
#ifndef MPIACCEL_CHILD_H
#define MPIACCEL_CHILD_H

#include "coll_inplace/team.h"

enum { CHILD_RING = 32, CHILD_WINDOW = CHILD_RING / 2, CHILD_UNUSED_MAX = 64 };

struct child_offer {
    _Atomic uint32_t end;     /* the number of the child, plus 1 */
    uint64_t mailbox, common; /* positions; 0: this rank declines */
};

/* A child that has no team yet. Before the host has created the communicator, this is the offer of
 * the rank.
 */
struct child {
    uintptr_t handle; /* these three belong to the caller */
    bool same_ranks;
    struct child *next;
    struct team *parent; /* its mailboxes have the offers; NULL: `offers` has copies */
    uint32_t number, parent_size;
    bool has_ranks, mapped; /* `rank_of_parent` and `rank_of_member` have been filled in */
    struct team *team;
    struct mailbox *mailbox;
    struct team_common *common;
    uint16_t *rank_of_parent; /* by rank of the child */
    uint16_t *rank_of_member; /* the rank in the parent, by member of the node; or CHILD_NO_RANK */
    struct child_offer offers[]; /* by rank of the parent */
};
#define CHILD_NO_RANK UINT16_MAX

/* Call before the host creates a communicator from `parent`, unless child_is_offered(). Publishes
 * the offer of this rank, or that it cannot take part if `declines` is true. */
void child_offer(struct team *parent, bool declines);

static inline bool child_is_offered(const struct team *parent)
{
    return parent->children_offered != parent->children_created;
}

/* Call when the host has created the communicator, on all ranks of the parent, also those that are
 * not in the new communicator. If another child has been created meanwhile, so that
 * child_is_offered() is false, call child_offer() again first. NULL: this rank has declined. */
struct child *child_create(struct team *parent);

/* Call one of these before child_settle() for each rank of the child, with the member of the node
 * that is this rank, or with its rank in the parent. Neither is needed if every rank has the same
 * number in the child as in the parent. */
void child_set_member(struct child *child, uint32_t rank, uint32_t member);
void child_set_rank(struct child *child, uint32_t rank, uint32_t rank_of_parent);

/* Read the offers and make the team of `size` ranks. NULL: a rank has declined; the answer is the
 * same on all ranks. `child` must not be used afterwards. */
struct team *child_settle(struct child *child, uint32_t size, uint32_t rank);

/* Call instead of child_settle(). */
void child_cancel(struct child *child);

/* Whether there has been no operation in the team of a child, on any rank that has made the same
 * calls as this one. */
static inline bool child_is_unused(const struct team *team)
{
    return !team->op && !team->barrier.rounds && !team->children_created;
}

/* Call instead of team_leave() if child_is_unused(). `refused`: the host has refused a call of this
 * rank, which other ranks may have performed in the team. */
void child_leave_unused(struct team *team, bool refused);

/* For team_leave(). Call child_parent_leaves() before this rank publishes that it has left, and
 * child_parent_ends() when all ranks have left. */
void child_parent_leaves(struct team *parent);
void child_parent_ends(struct team *parent);

#endif
