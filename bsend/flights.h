/* Sends of the host's that are not complete, in a row. Whoever asks the host for some takes them
 * out meanwhile, so that other threads ask for others, and none is asked for twice. */
#ifndef MPIACCEL_FLIGHTS_H
#define MPIACCEL_FLIGHTS_H

#include "core/base.h"

#include <pthread.h>

struct flight {
    uintptr_t request;
    struct flight *next;
    size_t bytes;
    char *copy; /* of pending.h: `bytes` of room, if it sends that */
};

struct flights {
    pthread_mutex_t mutex;
    struct flight *first, **end;
};
#define FLIGHTS_INITIALIZER(flights)                      \
    {                                                     \
        PTHREAD_MUTEX_INITIALIZER, NULL, &(flights).first \
    }

/* Behind all others. */
void flights_add(struct flights *flights, struct flight *flight);

/* NULL: there is none. */
struct flight *flights_take_first(struct flights *flights);
struct flight *flights_take_all(struct flights *flights);

/* One or more, before all others; `last` is the link behind them. */
void flights_put_back(struct flights *flights, struct flight *some, struct flight **last);

#endif
