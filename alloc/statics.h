/* Variables in shared memory: those that a program has marked MPIACCEL_SHARED, and with
 * MPIACCEL_STATICS=1 all of the executable's (its .data and .bss).
 *
 * The pages that they lie on are copied into the last part of our slice, and that part is mapped
 * over them: same addresses, same values, and from then on every member can reach them. What else
 * lies on those pages moves with them and does not notice. A page that holds nothing but zeroes is
 * not copied, since a hole of the file is that too: memory is still taken by first touch.
 *
 * Nobody may write in between: signals are blocked and other threads stopped (alloc/halt.h). Where
 * that cannot be done, or the pages are not what they should be (private, readable and writable),
 * nothing is moved and a line says why.
 *
 * Marked variables are found by a note that <mpiaccel/mpiaccel.h> puts into each executable and
 * library: it says where the section begins and ends. So nothing of ours runs there, and it does
 * not matter how and when this library comes into the process.
 *
 * After a fork the child has its variables as they were (alloc/node.c).
 */
#ifndef MPIACCEL_STATICS_H
#define MPIACCEL_STATICS_H

#include "core/base.h"

/* Look for them. Bytes of the slice that they need. Before node_enter(). */
size_t statics_find(bool all_of_executable);

/* Move them, when the node has settled. */
void statics_move(void);

#endif
