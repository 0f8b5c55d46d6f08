/* Messages: one line each on stderr, with the rank, what happened, why, and what to do about it. */
#ifndef MPIACCEL_LOG_H
#define MPIACCEL_LOG_H

#include "core/base.h"

#include <stdatomic.h>

/* Set the world rank to name in messages; -1: none yet. */
void log_set_rank(int rank);

/* Print a message if MPIACCEL_VERBOSE is at least `level`. Level 0 is always printed. */
void log_message(unsigned level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Log only the first time that this line of code is reached. */
#define log_once(...)                                                       \
    do {                                                                    \
        static _Atomic bool logged;                                         \
        if (!atomic_exchange_explicit(&logged, true, memory_order_relaxed)) \
            log_message(__VA_ARGS__);                                       \
    } while (0)

#endif
