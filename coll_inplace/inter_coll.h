/* Collectives between the two groups of an intercommunicator (MPI-4.0, 6.2.3). Here `rank` means a
 * rank of the other group, and blocks are one for each of them.
 *
 * Data go only from one group to the other: who wants some reads them where a rank of the other
 * group has posted them, and nobody waits for its own group. In a rooted call one group has only
 * the root to do anything, and its other ranks know neither who that is nor how much goes: they
 * pass. So every rank counts one operation a call, whatever goes, and long data never take more
 * numbers: they by_reference where they are, or go through streams. (Long reductions for all take
 * two, as all know.) All is flat: it suits groups of some ten ranks.
 */
#ifndef MPIACCEL_INTER_H
#define MPIACCEL_INTER_H

#include "coll_inplace/coll.h"

/* In place of a root: that is us. */
#define INTER_ROOT UINT32_MAX

/* A call in which this rank has no part. */
void inter_coll_pass(struct team *team);

void inter_coll_barrier(struct team *team);
enum coll_error inter_coll_bcast(struct team *team, struct buffer data, uint32_t root);
enum coll_error inter_coll_gather(struct team *team, struct buffer mine, const struct blocks *all,
                                  uint32_t root);
enum coll_error inter_coll_scatter(struct team *team, const struct blocks *all, struct buffer mine,
                                   uint32_t root);
enum coll_error inter_coll_allgather(struct team *team, struct buffer mine,
                                     const struct blocks *all);
enum coll_error inter_coll_alltoall(struct team *team, const struct blocks *to,
                                    const struct blocks *from);

/* Of the other group's operands, which are as long as ours. */
enum coll_error inter_coll_reduce(struct team *team, const struct reducer *reducer,
                                  struct buffer from, struct buffer to, uint32_t root);
enum coll_error inter_coll_allreduce(struct team *team, const struct reducer *reducer,
                                     struct buffer from, struct buffer to);
/* `shares`: how many elements of the result each rank of our group gets. */
enum coll_error inter_coll_reduce_scatter(struct team *team, const struct reducer *reducer,
                                          struct buffer from, struct buffer to,
                                          const struct blocks *shares);

#endif
