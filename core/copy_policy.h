/* Which way long data take from one rank's private memory into another's.
 *
 *   COPY_CACHED    the owner copies into shared cells with ordinary stores, the reader copies out
 *   COPY_NONTEMPORAL  the same, but the owner uses non-temporal stores
 *   COPY_BY_OS     the reader copies once, with process_vm_readv()
 *
 * None of them is best everywhere. A cell is written again and again, so its lines are in the cache
 * of the rank that read it last. Where cores share a cache, the owner gets them back in some
 * nanoseconds, and ordinary stores win. Where they do not, each line costs 20 to 40 ns, and
 * non-temporal stores win, as they leave the data in memory. The OS copies once instead of twice,
 * but a system call and its work per page cost a fixed amount that differs between machines.
 *
 * So two ranks of each node hand over a sample in all three ways when MPI starts
 * (alloc/calibrate.h), and copy_policy() turns the costs into a decision for the node. The cost of
 * a way is the sum of two times: of a message of data that the owner has just written, from a
 * synchronised start, and of a message of unchanged data in a stream. Either alone misjudges some
 * machine: on a Xeon whose cores share a cache, a single fresh message is 20 % faster through
 * cells, a stream of unchanged messages 2.6 times as fast by the OS.
 *
 * The hosts copy long messages by the OS as well. That way is therefore never slower than the host,
 * and cells must be faster by COPY_OS_MARGIN to be preferred. A sample that no way hands over
 * within COPY_PATIENCE_NS was interrupted, and decides nothing.
 *
 * The decision is local to each rank and need not be equal: a post says where its data are (H13).
 */
#ifndef MPIACCEL_COPY_POLICY_H
#define MPIACCEL_COPY_POLICY_H

#include "core/base.h"

enum copy_way { COPY_CACHED, COPY_NONTEMPORAL, COPY_BY_OS, COPY_WAYS };

/* Percent: what a way may cost, compared with the way that is preferred in case of doubt. */
enum { COPY_OS_MARGIN = 120, COPY_NONTEMPORAL_MARGIN = 90 };

enum { COPY_PATIENCE_NS = 100000 };

struct copy_costs {
    uint64_t ns[COPY_WAYS]; /* of a sample; 0: this way is impossible, or was not measured */
};

/* Bits. */
enum copy_policy {
    COPY_POLICY_NONTEMPORAL = 1, /* cells are filled with non-temporal stores */
    COPY_POLICY_BY_OS = 2,       /* long private data are left to the OS, where it permits that */
    /* What was not measured: with more ranks than processors nobody copies while others wait. */
    COPY_POLICY_DEFAULT = COPY_POLICY_BY_OS,
};

uint32_t copy_policy(const struct copy_costs *costs);

/* The same after MPIACCEL_STREAMING_STORES and MPIACCEL_KERNEL_COPIES, which override it. */
uint32_t copy_policy_configured(uint32_t policy);

#endif
