/* Static variables in shared memory: those that a program has marked MPIACCEL_SHARED and, with
 * MPIACCEL_STATICS=1, all those of the executable (its .data and .bss).
 *
 * Before the host's MPI_Init the pages that contain them are copied into a file of this process
 * (node/memfd.h), and the file is mapped over them, so addresses and values stay the same.
 * Everything else on those pages moves with them. A page of zeroes is not copied, since a hole in
 * the file also reads as zeroes; so memory is still allocated on first touch.
 *
 * A write between the copy and the mapping would be lost. So pages move only while the process has
 * a single thread, and signals are blocked meanwhile. In a process with several threads, or where
 * there is no room or the pages are not private, readable and writable, variables stay where they
 * are, windows over them are left to the host, and a message says why.
 *
 * The node's file does not exist yet at that time, since it is not certain yet which ranks have
 * this library. When the ranks have met, every member maps the files of all members over the
 * statics parts of their slices (node/rendezvous.h). From then on the variables have a position in
 * the node's file (node/node.h).
 *
 * The heap of malloc (heap/heap.h) and the early heap (alloc/arena.h) are in the same file, so they
 * become shared in the same way.
 *
 * A child of fork gets the variables as they were at the fork, whether or not they are shared with
 * other ranks (node/fork.h).
 *
 * Marked variables are found by an ELF note that <mpiaccel/mpiaccel.h> puts into each executable
 * and library, which records where the section of marked variables begins and ends. So the program
 * contains no code of this library, and it does not matter how or when the library is loaded.
 */
#ifndef MPIACCEL_STATICS_H
#define MPIACCEL_STATICS_H

#include "core/layout.h"
#include "heap/interface.h"

/* Move the variables. Call before the host's MPI_Init. `heap`: bytes for an early heap
 * (alloc/arena.h), which gets the end of the same file. If the process has a heap of malloc, the
 * variables get the end of its file instead, and there is no early heap. Returns the descriptor of
 * the file, which stays open for fork, or -1 if it would be empty or cannot be made. */
int statics_move(bool all_of_executable, size_t heap, const struct malloc_heap *of_malloc);

/* The early heap, or the heap of malloc, and its position in the file. Size 0: there is none. */
struct layout_heap statics_heap(void);

/* Call after rendezvous_settle(). From then on windows over the variables can be fast, or a message
 * states why they cannot. The same holds for the early heap. */
void statics_open(void);

#endif
