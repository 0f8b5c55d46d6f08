/* Sizes in bytes from which a collective uses another algorithm. One more size is TEAM_CELL (16
 * KiB) in mailbox.h: larger data do not fit into a cell, and long algorithms are used for them.
 * Measured on 2 cores with 2 MiB of L2 cache each, with 2 ranks, next to Open MPI 4.1 and MPICH
 * 4.0; ns per call (`make bench` prints all of them).
 *
 *   allreduce from the heap    1 KiB: copied into cells 590, by reference 350
 *                              8 KiB:                  1700,              420
 *                              8 MiB: non-temporal stores 840000, ordinary stores  590000
 *                             32 MiB:                    3900000,                 5500000
 *   bcast from malloc        128 KiB: in pieces 8900, read through the OS 5350 (the system call
 *                                     takes 700)
 *   gather from malloc         1 MiB: copied by the root 174000, by both sides 86000
 *                            128 KiB:                      8600,               10300
 *   gather from the heap       1 MiB:                    153000,               72000
 *   allreduce from malloc    128 KiB: segmented 9300, each rank combines all 12500
 * On another day, when lines and system calls took nearly twice as long:
 *   allgather from malloc      8 KiB: copied into cells 2450, read through the OS 3450
 *   reduce from malloc       128 KiB: equal segments 18400, five eighths for the root 17300
 *                              1 MiB:               157000,                          130000
 */
#ifndef MPIACCEL_THRESHOLDS_H
#define MPIACCEL_THRESHOLDS_H

#include "core/base.h"

/* Collectives that synchronise anyway read data by reference: in the heap from this size on, and in
 * private memory above EAGER_MAX if the data are copied. All other collectives do so above
 * EAGER_MAX in the heap, and in private memory if the data do not fit into a cell. */
enum { BY_REFERENCE_MIN = 1024 };

/* Data that are read by reference are copied by both sides from these sizes on, if one of them
 * would wait for the other anyway (coop_copy.h). */
enum { COOP_COPY_MIN_SHARED = 64 << 10, COOP_COPY_MIN_PRIVATE = 1 << 20 };

/* Results of this size, of all ranks together, are written with non-temporal stores if the caches
 * do not hold them together with the operands, and no operand was read at the same address. */
enum { NONTEMPORAL_RESULT_MIN = 4 << 20 };

/* A rank copies its own data of this size with non-temporal stores if the caches do not hold all
 * data that the ranks move. */
enum { NONTEMPORAL_COPY_MIN = 1 << 20 };

/* Relative costs per byte of combining, and of delivering to another rank's private memory. */
enum { COST_COMBINE = 3, COST_DELIVER = 2 };

/* Blocks of up to EAGER_MAX bytes never make the root of a scatter wait, because they do not under
 * the hosts. If all blocks together do not fit into a cell, they are copied into a block of memory
 * of at most HOLD_MAX bytes. */
enum { EAGER_MAX = 8192, HOLD_MAX = 1 << 20 };

#endif
