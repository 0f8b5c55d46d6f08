/* What it costs on this node to hand data from one rank to another (core/copy_policy.h), measured
 * once, at the end of MPI_Init. The first rank of the node writes, and the last one reads: of all
 * pairs these are likely to be farthest apart. It takes less than a millisecond. The other ranks do
 * not wait for it; until the result is in the header they use COPY_POLICY_DEFAULT.
 *
 * Agreement. The reader sets `state` from ABSENT to PRESENT and waits; the writer sets it
 * from PRESENT to RUNNING. Each waits for the other for a millisecond, then sets it to
 * OVER. All changes are compare-and-swap, so exactly one of RUNNING and OVER is reached, and both
 * see which. From RUNNING on each knows that the other is in calibrate(), and waits for it without
 * a limit, in sync_wait_until(); if it dies, the job ends.
 *
 * `given` is written by the writer only, `taken` by the reader only. Both count pieces: piece n may
 * be read when `given` has reached n, its memory written again when `taken` has. `cells` and
 * `source` are written before RUNNING is published, `permitted` before PRESENT.
 */
#ifndef MPIACCEL_CALIBRATE_H
#define MPIACCEL_CALIBRATE_H

/* Every member calls it once, after arena_open(). */
void calibrate(void);

#endif
