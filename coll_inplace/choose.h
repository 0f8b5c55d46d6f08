/* From how many bytes on a collective goes another way. Measured on 2 cores with 2 MiB of L2 each,
 * 2 ranks, Open MPI 4.1 and MPICH 4.0 beside it; ns a call, `make bench` shows all of them.
 *
 *   allreduce from the heap    1 KiB: copied into cells 590, left where it lies 350
 *                              8 KiB:                  1700,                    420
 *   allreduce from malloc      8 KiB: copied into cells 1480, fetched by the kernel 1650
 *   allgather from malloc      8 KiB:                   1550,                       1500
 *   bcast from malloc        128 KiB: in pieces 8900, fetched 5350 (a system call costs 700)
 *   gather from malloc         1 MiB: copied by the root 174000, by both 86000
 *                            128 KiB:                    8600,          10300
 *   gather from the heap       1 MiB:                  153000,          72000
 *   allreduce from malloc    128 KiB: each combines a share 9300, each combines all 12500
 */
#ifndef MPIACCEL_CHOOSE_H
#define MPIACCEL_CHOOSE_H

#include "core/base.h"

/* Collectives that synchronise anyway leave data where they lie from these sizes on, in the heap
 * and in private memory; the others (H15) only what does not fit into a cell. */
enum { CHOOSE_PLACE_SHARED = 1024, CHOOSE_PLACE_PRIVATE = 6144 };

/* Data that stay where they lie are copied by both sides from these sizes on, where one waits for
 * the other anyway (joint.h). */
enum { CHOOSE_JOINT_SHARED = 64 << 10, CHOOSE_JOINT_PRIVATE = 256 << 10 };

/* Results of so many bytes in all are written around the caches, if they do not lie where operands
 * were read: else the lines are read before they are written. */
enum { CHOOSE_AROUND = 4 << 20 };

/* Blocks of up to so many bytes never keep the root of a scatter, since they do not under the
 * hosts: where all together are too many for a cell, they are copied into a block of memory. */
enum { CHOOSE_EAGER = 8192, CHOOSE_HOLD = 1 << 20 };

#endif
