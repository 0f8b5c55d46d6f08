#include "bsend/flights.h"

void flights_add(struct flights *flights, struct flight *flight)
{
    flight->next = NULL;
    pthread_mutex_lock(&flights->mutex);
    *flights->end = flight;
    flights->end = &flight->next;
    pthread_mutex_unlock(&flights->mutex);
}

struct flight *flights_take_first(struct flights *flights)
{
    pthread_mutex_lock(&flights->mutex);
    struct flight *flight = flights->first;
    if (flight && !(flights->first = flight->next))
        flights->end = &flights->first;
    pthread_mutex_unlock(&flights->mutex);
    return flight;
}

struct flight *flights_take_all(struct flights *flights)
{
    pthread_mutex_lock(&flights->mutex);
    struct flight *all = flights->first;
    flights->first = NULL;
    flights->end = &flights->first;
    pthread_mutex_unlock(&flights->mutex);
    return all;
}

void flights_put_back(struct flights *flights, struct flight *some, struct flight **last)
{
    pthread_mutex_lock(&flights->mutex);
    if (!(*last = flights->first))
        flights->end = last;
    flights->first = some;
    pthread_mutex_unlock(&flights->mutex);
}
