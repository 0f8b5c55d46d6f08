/* Messages: one line each on stderr, saying which rank, what happened, why, and what to do. */
#ifndef MPIACCEL_SAY_H
#define MPIACCEL_SAY_H

#include "core/base.h"

#include <stdatomic.h>

/* Which rank the lines come from; -1 as long as it is not known. */
void log_set_rank(int rank);

/* Printed when MPIACCEL_VERBOSE is at least `level`; level 0 always. */
void log_message(unsigned level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what may happen often: only the first time at each place in the code. */
#define log_once(...)                                                     \
    do {                                                                  \
        static _Atomic bool said;                                         \
        if (!atomic_exchange_explicit(&said, true, memory_order_relaxed)) \
            log_message(__VA_ARGS__);                                     \
    } while (0)

#endif
