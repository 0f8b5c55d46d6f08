/* Buffered sends (MPI-4.0, 3.4). What is fast, and why no more: bsend/kept.h.
 *
 * The program's buffers are attached to the host (buffer.c), which does all that is not fast and
 * judges all arguments that are wrong. What is fast is one MPI_Isend of the host's out of a copy.
 */
#include "pmpi_wrap/abi/bsend.h"

#include "alloc/cma.h"
#include "alloc/reach.h"
#include "bsend/kept.h"
#include "bsend/late.h"
#include "bsend/pending.h"
#include "bsend/short.h"
#include "core/config.h"
#include "pmpi_wrap/abi/comm.h"

#include <limits.h>

/* ---- whether anything is fast ---- */

static bool has_been_sent(uintptr_t *bits)
{
    MPI_Request request = HANDLE_OF(MPI_Request, *bits);
    int done;
    int result = host.Test(&request, &done, MPI_STATUS_IGNORE);
    *bits = BITS(request);
    return done || result != MPI_SUCCESS;
}

static bool has_landed(struct kept *place)
{
    return has_been_sent(&place->request) ||
           (outbox_taken(&place->parcel) && late_adopt(place->request));
}

/* What is kept is sent by the host's way for long messages: its receiver copies it, plainly by way
 * of alloc/cma.h, or by the kernel. Where that is slow the host's buffered sends, in pieces through
 * shared memory, are faster: 16 KiB 2.7 and 6.6 us where it takes 450 % of a plain copy's time. */
enum { SLOW_PERCENT = 300 };

static bool kernel_is_fast(void)
{
    return config.kernel_copies == 1 || reach_percent() <= SLOW_PERCENT;
}

/* The lengths that may be fast, and whether receivers copy plainly. Before a copy of ours has
 * landed nobody knows that, and they are taken to. */
static _Atomic size_t shortest = SIZE_MAX, longest;
static _Atomic bool copied_plainly;

/* Longer ones of any type are for late.h. */
static _Atomic size_t late_from = SIZE_MAX;

/* None ever again. */
static _Atomic bool stopped;

static void open_range(bool plainly)
{
    copied_plainly = plainly;
    shortest = stopped            ? SIZE_MAX
               : plainly          ? BSEND_MIN
               : kernel_is_fast() ? BSEND_MIN_BY_KERNEL
                                  : SIZE_MAX;
    longest = plainly ? BSEND_MAX : BSEND_MAX_BY_KERNEL;
    late_from = HOST_LEARNS_LATE && plainly && !stopped ? BSEND_EAGER : SIZE_MAX;
}

/* Bytes of the smallest buffer, and of what the host may have put there since it was last made to
 * look. */
static _Atomic uint64_t room, unseen;

/* The request of a message that has left in the call that began it. */
static MPI_Request left_at_once;

/* The host's largest tag; 0: not asked yet. */
static _Atomic int most_tag;

static void find_most_tag(void)
{
    int *most_of_host, found = 0;
    if (most_tag)
        return;
    host.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most_of_host, &found);
    most_tag = found ? *most_of_host : SHORT_TAG_MAX;
}

/* Whether it is not the host that waits for the host's sends (pending.h). */
static _Atomic bool lasts;

/* Before the host sends so many bytes: what has been received must not be in its way. By its own
 * barrier it would know of that, by ours it does not. */
HOT_INLINE void look_for_room(size_t bytes)
{
    if (HOST_LOOKS_FOR_ROOM || LIKELY(unseen + bytes + MPI_BSEND_OVERHEAD <= room))
        return;
    for (int looks = 0; looks < 2; looks++) /* each takes some 30 messages */
        sync_poke();
    unseen = 0;
}

/* The longest message that there is room for; what is longer the host judges, if it can. */
static _Atomic uint64_t most = BSEND_NO_LIMIT;

void bsend_limit(uint64_t bytes)
{
    most = bytes;
}

void bsend_has_room(uint64_t bytes)
{
    room = room ? min_size(room, bytes) : bytes;
}

bool bsend_open(uint64_t bytes, bool only_one)
{
    if (stopped)
        return false;
    if (!kept_is_open && HOST_WAITS_IN_BSEND) {
        pending_open(bytes, config.bsend_wait * UINT64_C(1000000), has_been_sent);
        if (left_at_once == HANDLE_OF(MPI_Request, 0))
            complete_request(&left_at_once);
        lasts = only_one;
    }
    if (!only_one)
        lasts = false;
    find_most_tag();
    if (HOST_IS_SLOW_IN_BSEND)
        short_open(only_one ? bytes : 0, has_been_sent);
    open_range(true);
    if (HOST_LEARNS_LATE && only_one)
        late_open(bytes, has_been_sent);
    else
        late_close();
    kept_open(bytes > MPI_BSEND_OVERHEAD ? bytes - MPI_BSEND_OVERHEAD : 0, has_landed);
    return true;
}

void bsend_close(void)
{
    shortest = SIZE_MAX;
    late_from = SIZE_MAX;
    most = BSEND_NO_LIMIT;
    short_close();
    lasts = false;
    room = 0;
    kept_close();
    late_close();
}

void bsend_stop(void)
{
    stopped = true;
    lasts = false;
    short_close();
    shortest = SIZE_MAX;
    late_from = SIZE_MAX;
}

/* ---- sending ---- */

/* More than there can be. */
#define UNKNOWN_BYTES (SIZE_MAX / 2)

/* Of a message; if they are known, so is its type. */
HOT_INLINE size_t bytes_of(MPI_Count count, const struct typemap *map)
{
    return map && (uint64_t)count <= INT_MAX ? map->size * (size_t)count : UNKNOWN_BYTES;
}

/* Most messages are not: they are short. So this is asked before the host sends a message, and all
 * else, counting too, is done after it, when the receiver has it already. */
HOT_INLINE bool is_candidate(size_t bytes, const struct typemap *map)
{
    return UNLIKELY(bytes >= shortest) && bytes <= longest && map->simple;
}

static bool is_tag(int tag)
{
    return tag >= 0 && tag <= most_tag;
}

/* A place that holds the candidate; NULL: the host's. */
static NOINLINE struct kept *claim(const struct message *m, size_t bytes)
{
    if (!m->from || m->rank < 0 || !is_tag(m->tag) || m->comm == constants.comm_null)
        return NULL;
    bool plainly = cma_in_use();
    struct kept *place =
        kept_claim((struct kept_key){m->from, bytes, BITS(m->comm), m->rank}, plainly);
    if (place && place->has_flown && plainly != copied_plainly)
        open_range(plainly);
    return place;
}

static int send(enum call call, struct kept *place, const struct message *m)
{
    MPI_Request request;
    int result =
        host.Isend(place->parcel.at, (int)m->count, m->type, m->rank, m->tag, m->comm, &request);
    if (UNLIKELY(result != MPI_SUCCESS)) {
        kept_drop(place);
        return result;
    }
    kept_flies(place, BITS(request));
    thread_count(thread_self(), call, place->key.bytes);
    return result;
}

static int left_to_host(enum call call, size_t bytes, int result)
{
    if (!HOST_LOOKS_FOR_ROOM)
        thread_add(&unseen, bytes + MPI_BSEND_OVERHEAD);
    deferred(call, kept_is_open ? REASON_HOST_MESSAGE : REASON_NO_BUFFER);
    return result;
}

/* What the host would find room for, but not in a buffer as long as the program's. */
static NOINLINE bool is_refused(size_t bytes, int rank, int tag, MPI_Comm comm)
{
    return bytes < UNKNOWN_BYTES && rank >= 0 && tag >= 0 && comm != constants.comm_null;
}

HOT_INLINE bool is_too_long(size_t bytes, int rank, int tag, MPI_Comm comm)
{
    return HOST_LEARNS_LATE && UNLIKELY(bytes > most) && is_refused(bytes, rank, tag, comm);
}

/* A place for a copy that leaves at once; NULL: the host's. */
HOT_INLINE char *claim_short(const void *from, size_t bytes, const struct typemap *map, int rank,
                             int tag, MPI_Comm comm)
{
    if (!HOST_IS_SLOW_IN_BSEND || !short_fits(bytes) || !map->simple || !is_address(from))
        return NULL;
    return short_claim(from, bytes, BITS(comm), rank, tag);
}

static inline int send_short(enum call call, char *copy, int count, MPI_Datatype type, int rank,
                             int tag, MPI_Comm comm, size_t bytes)
{
    MPI_Request request;
    uintptr_t bits = 0;
    bool left = true;
    int result = host.Isend(copy, count, type, rank, tag, comm, &request);
    if (LIKELY(result == MPI_SUCCESS)) {
        bits = BITS(request);
        left = has_been_sent(&bits);
        thread_count(thread_self(), call, bytes);
    }
    short_sent(bits, left);
    return result;
}

static inline bool outlasts_host(void)
{
    return HOST_WAITS_IN_BSEND && lasts;
}

/* What can be copied, and sent as MPI_PACKED. */
static bool can_be_packed(const struct message *m, struct buffer *data, size_t *bytes)
{
    const struct typemap *map = m->from ? typemap_of(m->type) : NULL;
    *data = (struct buffer){(char *)m->from, map, (size_t)m->count};
    return map && (uint64_t)m->count <= INT_MAX && m->rank >= 0 && is_tag(m->tag) &&
           m->comm != constants.comm_null && buffer_bytes(*data, bytes) && *bytes <= INT_MAX;
}

/* A place for a copy, while others are kept; NULL: the host's. */
static NOINLINE struct flight *claim_copy(const struct message *m, bool may_wait)
{
    struct buffer data;
    size_t bytes;
    struct flight *copy = can_be_packed(m, &data, &bytes) ? pending_claim(bytes, may_wait) : NULL;
    if (copy)
        buffer_read(copy->copy, data, 0, bytes);
    return copy;
}

static NOINLINE int send_copy(enum call call, struct flight *copy, const struct message *m,
                              bool may_wait)
{
    MPI_Request request;
    size_t bytes = copy->bytes;
    int result = host.Isend(copy->copy, (int)bytes, MPI_PACKED, m->rank, m->tag, m->comm, &request);
    if (result == MPI_SUCCESS)
        pending_flies(copy, BITS(request), may_wait);
    else
        pending_drop(copy);
    return left_to_host(call, bytes, result);
}

void bsend_passed(MPI_Comm comm, int rank)
{
    if (!HOST_IS_SLOW_IN_BSEND || rank < 0)
        return;
    peers_passed(BITS(comm), rank);
    if (comm != MPI_COMM_WORLD)
        peers_passed(BITS(comm), PEERS_SOME);
}

/* Of what can be packed: the host would let it pass. On a communicator that is none it would say
 * so, but in the name of the call by which we asked. */
static bool passes(const struct message *m)
{
    int inter = 0, size = 0;
    if (peers_know(BITS(m->comm), m->rank))
        return true;
    if (m->comm != MPI_COMM_WORLD && !peers_know(BITS(m->comm), PEERS_SOME))
        return false;
    host.Comm_test_inter(m->comm, &inter);
    if (inter)
        host.Comm_remote_size(m->comm, &size);
    else
        host.Comm_size(m->comm, &size);
    if (m->rank >= size)
        return false;
    peers_passed(BITS(m->comm), m->rank);
    return true;
}

/* A copy in the outbox; NULL: the host's. */
static NOINLINE struct late *claim_late(const struct message *m)
{
    struct buffer data;
    size_t bytes;
    struct late *late = can_be_packed(m, &data, &bytes) && passes(m) ? late_claim(bytes) : NULL;
    if (late)
        buffer_read(late->parcel.at, data, 0, bytes);
    return late;
}

static NOINLINE int send_late(enum call call, struct late *late, const struct message *m)
{
    MPI_Request request;
    size_t bytes = late->flight.bytes;
    int result =
        host.Isend(late->parcel.at, (int)bytes, MPI_PACKED, m->rank, m->tag, m->comm, &request);
    if (UNLIKELY(result != MPI_SUCCESS)) {
        late_drop(late);
        return result;
    }
    late_flies(late, BITS(request));
    thread_count(thread_self(), call, bytes);
    return result;
}

/* While any are kept: how does another go? */
enum way { WAY_UNKNOWN, WAY_BUFFER, WAY_COPY };

static NOINLINE enum way choose_way(const struct message *m, size_t bytes, bool may_wait,
                                    struct flight **copy)
{
    if (pending_reserve(bytes + MPI_BSEND_OVERHEAD))
        return WAY_BUFFER;
    if ((*copy = claim_copy(m, may_wait)))
        return WAY_COPY;
    if (may_wait)
        pending_drain();
    return WAY_UNKNOWN;
}

HOT_INLINE int send_by_host(enum call call, const void *from, int count, MPI_Datatype type,
                            int rank, int tag, MPI_Comm comm, size_t bytes)
{
    look_for_room(bytes);
    if (is_too_long(bytes, rank, tag, comm))
        return left_to_host(call, bytes, report_on_comm(comm, MPI_ERR_BUFFER));
    if (HOST_LEARNS_LATE && UNLIKELY(bytes > late_from)) {
        struct message m = {from, count, type, rank, tag, comm};
        struct late *late = claim_late(&m);
        if (late)
            return send_late(call, late, &m);
    }
    if (!outlasts_host()) {
        int result = host.Bsend(from, count, type, rank, tag, comm);
        if (result == MPI_SUCCESS)
            bsend_passed(comm, rank);
        return left_to_host(call, bytes, result);
    }
    enum way way = WAY_UNKNOWN;
    if (UNLIKELY(pending_count)) {
        struct message m = {from, count, type, rank, tag, comm};
        struct flight *copy;
        way = choose_way(&m, bytes, true, &copy);
        if (way == WAY_COPY)
            return send_copy(call, copy, &m, true);
    }
    MPI_Request request = left_at_once;
    int result = host.Ibsend(from, count, type, rank, tag, comm, &request);
    if (UNLIKELY(request != left_at_once) && result == MPI_SUCCESS)
        pending_add(BITS(request), bytes + MPI_BSEND_OVERHEAD, way == WAY_BUFFER, true);
    return left_to_host(call, bytes, result);
}

static NOINLINE int send_candidate(enum call call, const struct message *m, size_t bytes)
{
    struct kept *place = claim(m, bytes);
    if (place)
        return send(call, place, m);
    int result =
        send_by_host(call, m->from, (int)m->count, m->type, m->rank, m->tag, m->comm, bytes);
    if (UNLIKELY(result != MPI_SUCCESS))
        bsend_refused(m->comm);
    return result;
}

int bsend_message(enum call call, const struct message *m)
{
    const struct typemap *map = typemap_of(m->type);
    size_t bytes = bytes_of(m->count, map);
    if (is_candidate(bytes, map))
        return send_candidate(call, m, bytes);
    char *copy = claim_short(m->from, bytes, map, m->rank, m->tag, m->comm);
    if (copy)
        return send_short(call, copy, (int)m->count, m->type, m->rank, m->tag, m->comm, bytes);
    return send_by_host(call, m->from, (int)m->count, m->type, m->rank, m->tag, m->comm, bytes);
}

int accel_Bsend(const void *from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
    const struct typemap *map = typemap_of(type);
    size_t bytes = bytes_of(count, map);
    if (UNLIKELY(is_candidate(bytes, map)))
        return send_candidate(CALL_Bsend, &(struct message){from, count, type, rank, tag, comm},
                              bytes);
    char *copy = claim_short(from, bytes, map, rank, tag, comm);
    if (copy)
        return send_short(CALL_Bsend, copy, count, type, rank, tag, comm, bytes);
    return send_by_host(CALL_Bsend, from, count, type, rank, tag, comm, bytes);
}

/* The message has left, so to speak: what the program waits for is complete. */
static int has_left(int result, MPI_Request *request)
{
    return result == MPI_SUCCESS ? complete_request(request) : result;
}

/* Without waiting. */
static int start_by_host(enum call call, const struct message *m, size_t bytes,
                         MPI_Request *request)
{
    look_for_room(bytes);
    if (is_too_long(bytes, m->rank, m->tag, m->comm))
        return left_to_host(call, bytes, report_on_comm(m->comm, MPI_ERR_BUFFER));
    struct late *late = HOST_LEARNS_LATE && bytes > late_from ? claim_late(m) : NULL;
    if (late)
        return has_left(send_late(call, late, m), request);
    struct flight *copy;
    enum way way =
        outlasts_host() && pending_count ? choose_way(m, bytes, false, &copy) : WAY_UNKNOWN;
    if (way == WAY_COPY)
        return has_left(send_copy(call, copy, m, false), request);
    int result = host.Ibsend(m->from, (int)m->count, m->type, m->rank, m->tag, m->comm, request);
    if (result == MPI_SUCCESS)
        bsend_passed(m->comm, m->rank);
    if (outlasts_host() && result == MPI_SUCCESS && *request != left_at_once &&
        pending_add(BITS(*request), bytes + MPI_BSEND_OVERHEAD, way == WAY_BUFFER, false))
        has_left(result, request);
    return left_to_host(call, bytes, result);
}

static int start(enum call call, const struct message *m, MPI_Request *request)
{
    const struct typemap *map = typemap_of(m->type);
    size_t bytes = bytes_of(m->count, map);
    struct kept *place = is_candidate(bytes, map) ? claim(m, bytes) : NULL;
    if (place)
        return has_left(send(call, place, m), request);
    int result = start_by_host(call, m, bytes, request);
    if (UNLIKELY(result != MPI_SUCCESS))
        bsend_refused(m->comm);
    return result;
}

int bsend_start(enum call call, const struct message *m)
{
    if (!outlasts_host())
        return bsend_message(call, m);
    MPI_Request request;
    int result = start(call, m, &request);
    if (result == MPI_SUCCESS && request != left_at_once)
        host.Request_free(&request);
    return result;
}

int accel_Ibsend(const void *from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    if (!request)
        return left_to_host(CALL_Ibsend, 0,
                            host.Ibsend(from, count, type, rank, tag, comm, request));
    return start(CALL_Ibsend, &(struct message){from, count, type, rank, tag, comm}, request);
}

/* ---- large counts ---- */

#if MPI_VERSION >= 4
int accel_Bsend_c(const void *from, MPI_Count count, MPI_Datatype type, int rank, int tag,
                  MPI_Comm comm)
{
    if (LIKELY((uint64_t)count <= INT_MAX))
        return bsend_message(CALL_Bsend_c, &(struct message){from, count, type, rank, tag, comm});
    size_t bytes = bytes_of(count, typemap_of(type));
    look_for_room(bytes);
    return left_to_host(CALL_Bsend_c, bytes, host.Bsend_c(from, count, type, rank, tag, comm));
}

int accel_Ibsend_c(const void *from, MPI_Count count, MPI_Datatype type, int rank, int tag,
                   MPI_Comm comm, MPI_Request *request)
{
    if (request && (uint64_t)count <= INT_MAX)
        return start(CALL_Ibsend_c, &(struct message){from, count, type, rank, tag, comm}, request);
    size_t bytes = bytes_of(count, typemap_of(type));
    look_for_room(bytes);
    return left_to_host(CALL_Ibsend_c, bytes,
                        host.Ibsend_c(from, count, type, rank, tag, comm, request));
}
#endif
