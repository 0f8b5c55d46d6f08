/* Measurement of what it costs on this node to hand data from one rank to another
 * (core/copy_policy.h), made once, at the end of MPI_Init. The first rank of the node writes and
 * the last one reads, since these two are likely to be the farthest apart. The measurement takes
 * about a millisecond, half of it for page faults. The other ranks do not wait for it; until the
 * result is in node.header they use COPY_POLICY_DEFAULT.
 *
 * Agreement. The reader sets `state` from ABSENT to PRESENT and waits; the writer sets it from
 * PRESENT to RUNNING. Each waits up to a millisecond for the other, and sets `state` to OVER if the
 * other has not come. All changes are compare-and-swap, so exactly one of RUNNING and OVER is
 * reached, and both see the same one. In state RUNNING the other rank is certainly in calibrate(),
 * so each waits for the other without a limit, in sync_wait_until(). If one of them dies, the
 * launcher ends the job.
 *
 * Only the writer writes `given`, only the reader writes `taken`. Both count pieces: piece n may be
 * read when `given` has reached n, and its memory may be written again when `taken` has. `cells`
 * and `source` are written before RUNNING is published, `permitted` before PRESENT.
 */
#ifndef MPIACCEL_CALIBRATE_H
#define MPIACCEL_CALIBRATE_H

/* The sample goes through cells that are laid out and reused like those of a communicator
 * (mailbox.c asserts it): which stores are faster depends on how soon lines are rewritten and on
 * what the processor prefetches. */
enum { SAMPLE_CELLS = 16, SAMPLE_ROOM = 32 << 10 };

/* Call once on every member, after arena_open(). */
void calibrate(void);

#endif
