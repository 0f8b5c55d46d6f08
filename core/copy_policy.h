/* How long data are copied from the private memory of one rank into that of another.
 *
 * - COPY_CACHED: the owner copies into shared cells with ordinary stores, the reader copies out.
 * - COPY_NONTEMPORAL: the owner copies into shared cells with non-temporal stores, the reader
 *   copies out.
 * - COPY_BY_OS: the reader copies once, with process_vm_readv().
 *
 * None of the three is best everywhere. Cells are reused, so the lines of a cell are in the cache
 * of the rank that read it last. Where cores share a cache, the owner gets them back within a few
 * nanoseconds, and ordinary stores win. Where cores do not share one, each line costs 20 to 40 ns,
 * and non-temporal stores win, since they write to memory. The OS copies once instead of twice, but
 * the system call and its work per page cost a fixed amount that differs between machines.
 *
 * Two ranks of each node therefore copy a sample of 64 KiB (SAMPLE in peer_copy/calibrate.c) in all
 * three ways during MPI_Init (peer_copy/calibrate.h), and copy_policy() turns the costs into a
 * decision for the node. The cost of a way is the sum of two times: one message of data that the
 * owner has just written, from a synchronized start, and one message of unchanged data within a
 * sequence. Either time alone leads to a wrong decision on some machine: on a Xeon whose cores
 * share a cache, a single fresh message is 20 % faster through cells, while a sequence of unchanged
 * messages is 2.6 times as fast by the OS.
 *
 * Hosts without XPMEM copy long messages by the OS, too. COPY_BY_OS is not slower than they are, so
 * cells must be faster by a margin to be preferred. If no way copies the sample within
 * COPY_PATIENCE_NS, the measurement was interrupted and is ignored.
 *
 * Ranks of a node may decide differently: each slot shows where its data are, so the choice is not
 * part of the protocol.
 */
#ifndef MPIACCEL_COPY_POLICY_H
#define MPIACCEL_COPY_POLICY_H

#include "core/base.h"

enum copy_way { COPY_CACHED, COPY_NONTEMPORAL, COPY_BY_OS, COPY_WAYS };

/* The margins favour what does no harm if a hypervisor moves virtual processors together or apart
 * after the measurement (docs/measurements.md#copy-policy).
 *
 * Non-temporal stores are used if they cost less than 40 % of ordinary stores. Between cores that
 * share a cache, collectives of 8 KiB with them took 1.3 to 2.4 times as long as with ordinary
 * stores, and longer than those of the hosts. Between cores that do not, they take a third of the
 * time, but with ordinary stores collectives are not slower than those of the hosts.
 *
 * The OS is used if it costs at most 300 % of cells filled with ordinary stores, which take up to
 * six times as long as the OS if the cores do not share a cache any more; or 160 % of cells filled
 * with non-temporal stores: when all ranks send at once, these take twice as long as in the sample,
 * in which one rank sends. */
enum { COPY_NONTEMPORAL_MARGIN = 40, COPY_OS_MARGIN = 300, COPY_OS_MARGIN_NONTEMPORAL = 160 };

enum { COPY_PATIENCE_NS = 100000 };

/* The measurement is not applied to communicators of more ranks than this. */
enum { COPY_RANKS_MEASURED = 16 };

struct copy_costs {
    uint64_t ns[COPY_WAYS]; /* per sample; 0: not possible or not measured */
};

/* A set of bits. */
enum copy_policy {
    COPY_POLICY_NONTEMPORAL = 1, /* cells are filled with non-temporal stores */
    COPY_POLICY_BY_OS = 2,       /* the OS copies long private data, where permitted */
    /* This is the policy without a measurement. On an oversubscribed node nothing is measured:
     * there the two copies through cells do not run at the same time, so the single copy of the OS
     * is faster. */
    COPY_POLICY_DEFAULT = COPY_POLICY_BY_OS,
};

uint32_t copy_policy(const struct copy_costs *costs);

/* What MPIACCEL_COPIES, or one of the old settings, makes of the policy:
 *
 *                  auto      os        host      shared    streaming   the old setting
 *   BY_OS          measured  yes       yes       no        no          MPIACCEL_KERNEL_COPIES
 *   NONTEMPORAL    measured  measured  measured  no        yes         MPIACCEL_STREAMING_STORES
 *   host's copies  replaced  replaced  left      replaced  replaced    MPIACCEL_CMA
 *
 * An old setting that is set to 0 or 1 has priority in its row, except that MPIACCEL_CMA=1 is the
 * default. */
uint32_t copy_policy_configured(uint32_t policy);

/* Whether the OS may copy long private data at all. */
bool copy_policy_permits_os(void);

/* Whether loads and stores replace the copies that the host requests from the OS, where the data
 * are in the shared heap (pmpi_wrap/process_vm_entry.h). */
bool copy_policy_replaces_host_copies(void);

#endif
