/* Static variables in shared memory: those that a program has marked MPIACCEL_SHARED, and with
 * MPIACCEL_STATICS=1 all of the executable (its .data and .bss).
 *
 * Before the host's MPI_Init the pages that they lie on are copied into a file of this process
 * (alloc/memfd.h), and the file is mapped over them: same addresses, same values. Whatever else
 * lies on those pages moves with them. A page of zeroes is not copied, since a hole of the file
 * reads as zeroes too: memory is still allocated by first touch.
 *
 * A write between the copy and the mapping would be lost. So pages move only while the process has
 * a single thread, and signals are blocked meanwhile. In a process with several threads, or where
 * there is no room or the pages are not private, readable and writable, variables stay where they
 * are, windows over them are left to the host, and a message says why.
 *
 * The node's file does not exist yet at that time, since it is not certain yet which ranks have
 * this library. When the ranks have met, every member maps the files of all members over the
 * statics parts of their slices (alloc/rendezvous.h). From then on the variables have a position in
 * the node's file (alloc/node.h).
 *
 * A child of fork gets the variables as they were at the fork, whether or not they are shared with
 * other ranks (alloc/fork.h).
 *
 * Marked variables are found by a note that <mpiaccel/mpiaccel.h> puts into each executable and
 * library; it holds where the section begins and ends. So no code of this library runs there, and
 * it does not matter how and when this library comes into the process.
 */
#ifndef MPIACCEL_STATICS_H
#define MPIACCEL_STATICS_H

#include "core/base.h"

/* Before the host's MPI_Init: move the variables. Returns the descriptor of their file, which stays
 * open for fork, or -1 if there are none or they have not moved. */
int statics_move(bool all_of_executable);

/* When the node has settled: windows over the variables can be fast from now on, or a message says
 * why they cannot. */
void statics_open(void);

#endif
