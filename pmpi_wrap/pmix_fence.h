/* Whether all ranks of a job have the library, detected by the exchange that the host performs in
 * MPI_Init through PMIx.
 *
 * In MPI_Init each rank passes data for the others, such as its network addresses, to its PMIx
 * server by PMIx_Put, and then enters a fence of all ranks. A fence with PMIX_COLLECT_DATA gives
 * every server the data of all ranks before any rank leaves it. This library exports PMIx_Fence and
 * PMIx_Fence_nb, so the host calls the library first. Before the host's fence the library puts one
 * key of its own, whose value stands for what all ranks must have in common. Afterwards each rank
 * looks for the keys of the others, in its own server, which answers at once.
 *
 * All ranks find the same keys, although a rank without the library does nothing:
 *
 *   1. A rank puts its key only in a fence of all ranks of its job that collects data, and before
 *      it enters this fence. pmix_fence_ended() waits until the fence is over. So a rank that puts
 *      its key finds the keys of all ranks that put theirs.
 *   2. If one rank finds the keys of all, all ranks have put theirs, so all find all. They find the
 *      same values, so each of them finds equal ones if one does.
 *   3. A rank that has put no key does not look for keys. Then no rank finds all.
 *
 * So a rank that finds the keys of all may make a collective call on MPI_COMM_WORLD: all others do
 * so, too. If the host does not collect data (MCA parameter pmix_base_collect_data of Open MPI), or
 * uses another interface than PMIx, or a copy of PMIx with names of its own, rule 3 holds.
 *
 * The keys of an earlier MPI_Init of the same processes have other names. */
#ifndef MPIACCEL_PMIX_FENCE_H
#define MPIACCEL_PMIX_FENCE_H

#include "core/layout.h"

/* Call in the thread that calls MPI_Init, before the host does its part. */
void pmix_fence_begins(uint64_t value);

/* Call in the same thread when the host has done its part. Returns whether the host's fence has
 * carried the key of this rank. Waits for the end of a fence that has not ended, which all ranks of
 * the job enter. */
bool pmix_fence_ended(void);

/* Returns whether all ranks have put the same value. Call only after pmix_fence_ended() has
 * returned true. */
bool pmix_fence_all_have(uint64_t value, int ranks);

#endif
