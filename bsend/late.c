#include "bsend/late.h"

#include "core/sync.h"

#include <stdlib.h>

/* So many are asked for with each message; more if there is no room. */
enum { LOOKS = 2, LOOKS_FOR_ROOM = 16 };

static struct flights aloft = FLIGHTS_INITIALIZER(aloft);
static _Atomic uint32_t not_taken, not_known; /* of these the host has not told */
static _Atomic size_t room, taken;            /* bytes: of the program's buffer, by our copies */
static late_sent_fn *has_been_sent;

void late_open(size_t bytes, late_sent_fn *sent)
{
    has_been_sent = sent;
    outbox_open(bytes);
    room = bytes;
}

void late_close(void)
{
    room = 0;
    outbox_close();
}

/* False: the program's buffer would have no room for it either. */
static bool take_room(size_t bytes)
{
    size_t most = room;
    if (bytes > most)
        return false;
    if (atomic_fetch_add(&taken, bytes) <= most - bytes)
        return true;
    taken -= bytes;
    return false;
}

static struct parcel take(size_t bytes)
{
    struct parcel parcel = {0};
    if (take_room(bytes) && !(parcel = outbox_take(bytes)).at)
        taken -= bytes;
    return parcel;
}

static void give_back(struct late *l)
{
    if (!l->parcel.at)
        return;
    outbox_give(&l->parcel);
    l->parcel = (struct parcel){0};
    taken -= l->flight.bytes;
    not_taken--;
}

static void keep(struct late *l, uintptr_t request)
{
    l->flight.request = request;
    not_known++;
    flights_add(&aloft, &l->flight);
}

/* The first ones; those that have not ended go to the end of the row, as one whose receiver sleeps
 * may stand before others that have been taken. */
static void look(uint32_t most)
{
    for (; most && not_known; most--) {
        struct late *l = (struct late *)flights_take_first(&aloft);
        if (!l)
            return;
        if (has_been_sent(&l->flight.request)) {
            give_back(l);
            free(l);
            not_known--;
            continue;
        }
        if (l->parcel.at && outbox_taken(&l->parcel))
            give_back(l);
        flights_add(&aloft, &l->flight);
    }
}

struct late *late_claim(size_t bytes)
{
    look(LOOKS);
    struct parcel parcel = take(bytes);
    if (!parcel.at) {
        look(LOOKS_FOR_ROOM);
        parcel = take(bytes);
    }
    if (!parcel.at)
        return NULL;
    struct late *l = malloc(sizeof *l);
    if (!l) {
        outbox_give(&parcel);
        taken -= bytes;
        return NULL;
    }
    *l = (struct late){.flight.bytes = bytes, .parcel = parcel};
    not_taken++;
    return l;
}

void late_flies(struct late *l, uintptr_t request)
{
    outbox_sent(&l->parcel, l->flight.bytes);
    keep(l, request);
}

void late_drop(struct late *l)
{
    give_back(l);
    free(l);
}

bool late_adopt(uintptr_t request)
{
    struct late *l = malloc(sizeof *l);
    if (!l)
        return false;
    *l = (struct late){0};
    keep(l, request);
    return true;
}

static void wait_for(_Atomic uint32_t *count)
{
    struct sync_wait wait = SYNC_WAIT;
    while (*count && (look(not_known), *count))
        sync_pause(&wait);
}

void late_drain(void)
{
    wait_for(&not_taken);
}

void late_finish(void)
{
    wait_for(&not_known);
}
