/* The statistics of a node, in MPI_Finalize and while the job runs. */
#ifndef MPIACCEL_STATISTICS_H
#define MPIACCEL_STATISTICS_H

#include <stdbool.h>

/* Call when MPI has been initialized. From then on, publish and print as MPIACCEL_STATS_EVERY
 * asks. */
void statistics_begin(void);

/* Publish this rank's counters to the node's other ranks. Call before the host's MPI_Finalize,
 * which no rank leaves before all have entered it. */
void statistics_publish(void);

/* If this rank is the one to do it, print the sum over the ranks of the node, as MPIACCEL_STATS
 * asks. Call after the host's MPI_Finalize or, with `so_far`, while the job runs. */
void statistics_print(bool so_far);

#endif
