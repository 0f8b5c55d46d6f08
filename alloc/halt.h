/* Stop the other threads of this process for a moment.
 *
 * A helper process, which shares our memory and has a stack of its own, traces them one after the
 * other until there are no new ones. A signal would not do: threads may block it, and libraries'
 * own threads mostly do. What a debugger does when it attaches happens to them: a call that was
 * waiting is begun again, or a few kinds of it (epoll_wait) return with EINTR.
 *
 * Until halt_end() the caller must not need anything that a stopped thread may hold: no malloc, no
 * stdio, no locks.
 */
#ifndef MPIACCEL_HALT_H
#define MPIACCEL_HALT_H

#include "core/base.h"

/* False: they run on, and `why` says why they cannot be stopped. */
bool halt_begin(const char **why);
void halt_end(void);

#endif
