/* From how many bytes on a collective goes another way. Measured on 2 cores with 2 MiB of L2 each,
 * 2 ranks, Open MPI 4.1 and MPICH 4.0 beside it; ns a call, `make bench` shows all of them.
 *
 *   allreduce from the heap    1 KiB: copied into cells 590, left where it lies 350
 *                              8 KiB:                  1700,                    420
 *                              8 MiB: around the caches 840000, through them 590000
 *                             32 MiB:                  3900000,             5500000
 *   bcast from malloc        128 KiB: in pieces 8900, fetched 5350 (a system call costs 700)
 *   gather from malloc         1 MiB: copied by the root 174000, by both 86000
 *                            128 KiB:                    8600,          10300
 *   gather from the heap       1 MiB:                  153000,          72000
 *   allreduce from malloc    128 KiB: each combines a share 9300, each combines all 12500
 * On another day, when lines and system calls took nearly twice as long:
 *   allgather from malloc      8 KiB: copied into cells 2450, fetched by the kernel 3450
 *   reduce from malloc       128 KiB: in equal shares 18400, five eighths the root's 17300
 *                              1 MiB:                157000,                        130000
 */
#ifndef MPIACCEL_CHOOSE_H
#define MPIACCEL_CHOOSE_H

#include "core/base.h"

/* Collectives that synchronise anyway leave data in the heap where they lie from this size on, and
 * data in private memory from EAGER_MAX on if they are copied. All others, only what is longer
 * than EAGER_MAX in the heap, and what does not fit into a cell in private memory. */
enum { BY_REFERENCE_MIN = 1024 };

/* Data that by_reference where they lie are copied by both sides from these sizes on, where one
 * waits for the other anyway (coop_copy.h). */
enum { COOP_COPY_MIN_SHARED = 64 << 10, COOP_COPY_MIN_PRIVATE = 1 << 20 };

/* Results of so many bytes in all are written around the caches, if these do not hold them together
 * with the operands, and they do not lie where operands were read. */
enum { NONTEMPORAL_RESULT_MIN = 4 << 20 };

/* So is what a rank copies of its own, from so many bytes on, if the caches do not hold all that
 * the ranks move. */
enum { NONTEMPORAL_COPY_MIN = 1 << 20 };

/* What it costs to fetch and combine a byte, and what to bring it to another's private memory. */
enum { COST_COMBINE = 3, COST_DELIVER = 2 };

/* Blocks of up to so many bytes never keep the root of a scatter, since they do not under the
 * hosts: where all together are too many for a cell, they are copied into a block of memory. */
enum { EAGER_MAX = 8192, HOLD_MAX = 1 << 20 };

#endif
