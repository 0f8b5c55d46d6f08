/* The statistics of the job, in MPI_Finalize. */
#ifndef MPIACCEL_STATISTICS_H
#define MPIACCEL_STATISTICS_H

/* Publish this rank's counters to the node's other ranks. Before the host's MPI_Finalize, which no
 * rank leaves before all have entered it. */
void statistics_publish(void);

/* Print the sum of all ranks, as MPIACCEL_STATS asks; on rank 0, after the host's MPI_Finalize. */
void statistics_print(void);

#endif
