/* The exported symbols. MPI_X and PMPI_X are one indirect jump each: the compiler turns a call in
 * tail position, with the same arguments in the same registers, into a jump.
 *
 * Nothing happens in a process until its first MPI call (H1: loaded into processes without MPI):
 * there is no constructor, and no reference to an MPI library. The first call finds the host and
 * fills the dispatch tables. If no MPI is loaded, that call goes to another library that defines
 * it, or fails, and the next one searches again (H2: the host is loaded late, or locally). Until
 * the host is found the tables are zero: addresses in them would have to be relocated by the
 * loader, in every process.
 *
 * When the host has been finalized, the tables are emptied again. A call that follows finds the
 * same host and goes to it, and the host reports the error. A program that has loaded MPI with
 * dlopen(), for example through a module, may have unloaded it with dlclose() and loaded it again.
 * Then the call finds the new copy.
 */
#include "pmpi_wrap/entry.h"

#include "core/stats.h"
#include "node/node.h"
#include "pmpi_wrap/call_types.h"
#include "pmpi_wrap/eager_limit.h"
#include "pmpi_wrap/host.h"
#include "pmpi_wrap/host_wait.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/recording.h"
#include "pmpi_wrap/symbols.h"
#include "pmpi_wrap/unseen_messages.h"

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

/* Targets of MPI_X and PMPI_X. NULL: the host has not been found. */
static mpi_fn *dispatch_mpi[CALL_COUNT], *dispatch_pmpi[CALL_COUNT];

/* Where a call goes on after this library. */
static mpi_fn *dispatch_onward[CALL_COUNT];

#define LAST_3  c
#define LAST_7  g
#define LAST_8  h
#define LAST_9  i
#define LAST_10 j
#define LAST_11 k

/* The target of a call. NULL: none yet. Acquire: whatever dispatch_open() stored before the target
 * is visible to a thread that reads the target. */
static inline mpi_fn *target_in(mpi_fn *const *entry)
{
    return __atomic_load_n(entry, __ATOMIC_ACQUIRE);
}

/* The target of a call that has found none in its table. If no MPI is loaded, it is the function of
 * another library, such as the MPI stubs of a serial program. It is not stored in the table,
 * because an MPI may be loaded later. */
static COLD mpi_fn *first_target(mpi_fn *const *target, const char *name)
{
    dispatch_open();
    mpi_fn *found = *target;
    if (!found)
        found = (mpi_fn *)symbol_elsewhere(name);
    return found ? found : (mpi_fn *)host_missing;
}

/* The exported pair. The first call is in a function of its own, so that the others save no
 * registers. */
#define CALL(name, n)                                                                              \
    typedef long type_##name(TYPES_##n);                                                           \
    EXPORT long MPI_##name(TYPES_##n);                                                             \
    EXPORT long PMPI_##name(TYPES_##n);                                                            \
    static COLD long first_mpi_##name(TYPES_##n)                                                   \
    {                                                                                              \
        return ((type_##name *)first_target(&dispatch_mpi[CALL_##name], "MPI_" #name))(NAMES_##n); \
    }                                                                                              \
    static COLD long first_pmpi_##name(TYPES_##n)                                                  \
    {                                                                                              \
        return ((type_##name *)first_target(&dispatch_pmpi[CALL_##name], "PMPI_" #name))(          \
            NAMES_##n);                                                                            \
    }                                                                                              \
    long MPI_##name(TYPES_##n)                                                                     \
    {                                                                                              \
        type_##name *target = (type_##name *)target_in(&dispatch_mpi[CALL_##name]);                \
        return (LIKELY(target) ? target : first_mpi_##name)(NAMES_##n);                            \
    }                                                                                              \
    long PMPI_##name(TYPES_##n)                                                                    \
    {                                                                                              \
        type_##name *target = (type_##name *)target_in(&dispatch_pmpi[CALL_##name]);               \
        return (LIKELY(target) ? target : first_pmpi_##name)(NAMES_##n);                           \
    }
#include "pmpi_wrap/calls.def"

/* ---- calls that are left to the host ---- */

_Atomic bool messages_may_be_unseen;

#define CALL(name, n)
/* Most of these calls start communication that the host continues later with messages of its own,
 * so a thread that sleeps might not be woken. A nonblocking call sends at once what it can, and
 * when the host polls next is unknown. */
#define HOST(name, n)                                                           \
    static long counted_##name(TYPES_##n)                                       \
    {                                                                           \
        stats_defer(CALL_##name, REASON_HOST_COLLECTIVE);                       \
        host_wait_stay_awake();                                                 \
        if (host_wait_sleeps())                                                 \
            host_wait_sending(-1);                                              \
        long result = ((type_##name *)dispatch_onward[CALL_##name])(NAMES_##n); \
        if (host_wait_sleeps())                                                 \
            host_wait_sent_to(-1);                                              \
        return result;                                                          \
    }
#define SEND(name, n, rank, comm)                                               \
    static COLD long announced_##name(TYPES_##n)                                \
    {                                                                           \
        host_wait_enter(CALL_WAITS);                                            \
        if (UNLIKELY(host_wait_anybody_sleeps()))                               \
            host_wait_sending(host_abi()->member_of_rank(comm, (int)rank));     \
        long result = ((type_##name *)dispatch_onward[CALL_##name])(NAMES_##n); \
        sync_full_fence(); /* between the host's stores and the load */         \
        if (UNLIKELY(host_wait_anybody_sleeps()))                               \
            host_wait_sent_to(host_abi()->member_of_rank(comm, (int)rank));     \
        host_wait_leave(true);                                                  \
        return result;                                                          \
    }                                                                           \
    static long sending_##name(TYPES_##n)                                       \
    {                                                                           \
        return LIKELY(!host_wait_intervenes)                                    \
                   ? ((type_##name *)dispatch_onward[CALL_##name])(NAMES_##n)   \
                   : announced_##name(NAMES_##n);                               \
    }
/* Report the start and end of a call if threads may yield or sleep between polls. */
#define OBSERVED(kind, name, n, how, found)                                     \
    static COLD long observed_##name(TYPES_##n)                                 \
    {                                                                           \
        host_wait_enter(how);                                                   \
        long result = ((type_##name *)dispatch_onward[CALL_##name])(NAMES_##n); \
        host_wait_leave(!(int)result && (found));                               \
        return result;                                                          \
    }                                                                           \
    static long kind##_##name(TYPES_##n)                                        \
    {                                                                           \
        return LIKELY(!host_wait_intervenes)                                    \
                   ? ((type_##name *)dispatch_onward[CALL_##name])(NAMES_##n)   \
                   : observed_##name(NAMES_##n);                                \
    }
/* The new request may have the handle of one that has been freed past this library. */
#define CREATING(name, n, target)                           \
    static long creating_##name(TYPES_##n)                  \
    {                                                       \
        long result = ((type_##name *)(target))(NAMES_##n); \
        if (!(int)result)                                   \
            host_abi()->request_created(LAST_##n);          \
        return result;                                      \
    }
#define PERSISTENT(name, n) CREATING(name, n, dispatch_onward[CALL_##name])
#define PERSISTENT_COLLECTIVE(name, n) \
    HOST(name, n)                      \
    CREATING(name, n, counted_##name)
#define WAITING(name, n)             OBSERVED(waiting, name, n, CALL_WAITS, true)
#define FOUND_NOTHING(result, found) (!(int)(result) && *(const int *)(found) <= 0)
/* While there may be unseen messages, a call that finds nothing is repeated. If it finds something,
 * there may be more, so the flag is set again. */
#define POLLING(name, n, found)                                                              \
    OBSERVED(polled, name, n, CALL_POLLS, *(const int *)(found) > 0)                         \
    static COLD long repeated_##name(TYPES_##n)                                              \
    {                                                                                        \
        uint32_t left = repetitions_for_unseen();                                            \
        long result = polled_##name(NAMES_##n);                                              \
        while (FOUND_NOTHING(result, found) && left-- > 0)                                   \
            result = polled_##name(NAMES_##n);                                               \
        if (!FOUND_NOTHING(result, found))                                                   \
            note_unseen_messages();                                                          \
        return result;                                                                       \
    }                                                                                        \
    static long polling_##name(TYPES_##n)                                                    \
    {                                                                                        \
        return UNLIKELY(atomic_load_explicit(&messages_may_be_unseen, memory_order_relaxed)) \
                   ? repeated_##name(NAMES_##n)                                              \
                   : polled_##name(NAMES_##n);                                               \
    }
#define MESSAGE(name, n)
#define OTHER(name, n)
#include "pmpi_wrap/calls.def"

static mpi_fn *forwarder_of(enum call call)
{
    switch (call) {
#define FORWARDER(name, kind) \
    case CALL_##name:         \
        return (mpi_fn *)kind##_##name;
#define CALL(name, n)
#define HOST(name, n)             FORWARDER(name, counted)
#define PERSISTENT(name, n)       FORWARDER(name, creating)
#define PERSISTENT_COLLECTIVE     PERSISTENT
#define WAITING(name, n)          FORWARDER(name, waiting)
#define POLLING(name, n, found)   FORWARDER(name, polling)
#define SEND(name, n, rank, comm) FORWARDER(name, sending)
#define MESSAGE(name, n)
#define OTHER(name, n)
#include "pmpi_wrap/calls.def"
    default:
        return NULL;
    }
}

/* ---- calls that are recorded ---- */

/* An int argument may have anything in the upper half of its register. The calls with large counts
 * are those whose names end in _c. */
#define IS_LARGE(name) \
    (sizeof(#name) > 3 && #name[sizeof(#name) - 3] == '_' && #name[sizeof(#name) - 2] == 'c')
#define COUNT_OF(name, count) (IS_LARGE(name) ? (int64_t)(count) : (int64_t)(int)(count))

/* The bytes that a call has moved; 0 if the call has failed, because its datatype may be
 * invalid. */
static COLD uint64_t data_of(long result, int64_t count, long datatype, long rank)
{
    return (int)result ? 0 : host_abi()->data_bytes(count, datatype, (int)rank);
}

/* `buffer`: what is sent, or NULL. A message that the host alone would not send at once is either
 * eager, because its limit has been raised, or long: the receiver copies it out of the sender's
 * memory. */
static COLD struct recorded_message recorded_message_of(long result, const void *buffer,
                                                        int64_t count, long datatype, long rank,
                                                        long comm)
{
    uint64_t bytes = data_of(result, count, datatype, rank);
    bool is_longer = buffer && bytes > quirk(QUIRK_EAGER_BYTES) &&
                     host_abi()->member_by_host(comm, (int)rank) >= 0;
    bool is_long = is_longer && bytes > eager_limit();
    return (struct recorded_message){.bytes = bytes,
                                     .is_eager = is_longer && !is_long,
                                     .is_long = is_long,
                                     .is_private = is_long && !node_shares(buffer, bytes),
                                     .is_unraised = is_long && eager_limit_would_have_sent(bytes)};
}

static COLD void record_started(const struct recording *r, long result, long count, long requests)
{
    bool any = false;
    for (int i = 0; !(int)result && i < (int)count; i++)
        any |= recording_started(r, host_abi()->request_in(requests, i));
    if (any)
        recording_defer(r, REASON_MESSAGE);
}

/* Forget the request before the host frees it, since the host may then give the handle to another
 * thread. */
static COLD long forgetting_Request_free(long a)
{
    if (a)
        recording_forget(host_abi()->request_in(a, 0));
    return ((type_Request_free *)host_abi()->handler_of(CALL_Request_free))(a);
}

/* With MPIACCEL_STATS each call goes through one of these, to its handler, its forwarder or the
 * host, and back. Without MPIACCEL_STATS none is reached. `record`: statements that record what the
 * call `r` has moved. */
#define RECORDED(name, n, target, record)                   \
    static COLD long recorded_##name(TYPES_##n)             \
    {                                                       \
        struct recording r = recording_begin(CALL_##name);  \
        long result = ((type_##name *)(target))(NAMES_##n); \
        recording_end(&r);                                  \
        record;                                             \
        return result;                                      \
    }
#define HANDLER(name) host_abi()->handler_of(CALL_##name)
#define ONWARD(name)  dispatch_onward[CALL_##name]
#define RECORD_DATA(name, count, datatype, rank) \
    recording_host_data(&r, data_of(result, COUNT_OF(name, count), datatype, rank))
#define RECORD_SENT(name, count, datatype, rank, comm)                                        \
    recording_message(&r, recorded_message_of(result, (const void *)a, COUNT_OF(name, count), \
                                              datatype, rank, comm))
#define RECORD_REQUEST(name, buffer)                    \
    if (!(int)result)                                   \
    recording_request(&r, host_abi()->request_in(g, 0), \
                      recorded_message_of(result, buffer, COUNT_OF(name, b), c, d, f))
#define RECORD_TRAFFIC(rank, window) \
    if (r.bytes)                     \
    recording_traffic(host_abi()->member_of_target(window, (int)rank), r.bytes)

#define CALL(name, n)                 RECORDED(name, n, HANDLER(name), )
#define ACCESS(name, n, rank, window) RECORDED(name, n, HANDLER(name), RECORD_TRAFFIC(rank, window))
#define ACCESS4                       ACCESS
#define HOST(name, n)                 RECORDED(name, n, counted_##name, )
#define CONTRIBUTES(name, n)                        \
    RECORDED(name, n, counted_##name,               \
             if (!(int)result) recording_host_data( \
                 &r, host_abi()->contribution(CALL_##name, (const long[]){NAMES_##n})))
#define FREES(name, n) RECORDED(name, n, forgetting_##name, )
#define START(name, n, count, requests) \
    RECORDED(name, n, HANDLER(name), record_started(&r, result, count, requests))
#define MOVES(name, n, count, datatype, root) \
    RECORDED(name, n, counted_##name, RECORD_DATA(name, count, datatype, root))
#define WAITING(name, n) RECORDED(name, n, waiting_##name, recording_defer(&r, REASON_MESSAGE))
#define RECEIVE(name, n)                                                   \
    RECORDED(name, n, waiting_##name, recording_defer(&r, REASON_MESSAGE); \
             RECORD_DATA(name, b, c, d))
#define POLLING(name, n, found) \
    RECORDED(name, n, polling_##name, recording_defer(&r, REASON_MESSAGE))
#define SEND(name, n, rank, comm)                                          \
    RECORDED(name, n, sending_##name, recording_defer(&r, REASON_MESSAGE); \
             RECORD_SENT(name, b, c, rank, comm))
#define MESSAGE(name, n) \
    RECORDED(name, n, ONWARD(name), recording_defer(&r, REASON_MESSAGE); RECORD_DATA(name, b, c, d))
#define PERSISTENT(name, n)   RECORDED(name, n, creating_##name, )
#define PERSISTENT_COLLECTIVE PERSISTENT
#define PERSISTENT_SEND(name, n) \
    RECORDED(name, n, creating_##name, RECORD_REQUEST(name, (const void *)a))
#define PERSISTENT_RECEIVE(name, n) RECORDED(name, n, creating_##name, RECORD_REQUEST(name, NULL))
#define ACCESSES_FILE(name, n, count, datatype)                       \
    RECORDED(name, n, ONWARD(name), recording_defer(&r, REASON_FILE); \
             RECORD_DATA(name, count, datatype, 0))
#define OTHER(name, n) RECORDED(name, n, ONWARD(name), )
#include "pmpi_wrap/calls.def"

static mpi_fn *recorder_of(enum call call)
{
    switch (call) {
#define CALL(name, n) \
    case CALL_##name: \
        return (mpi_fn *)recorded_##name;
#include "pmpi_wrap/calls.def"
    default:
        return NULL;
    }
}

/* ---- calls that finalize a host of which nothing is accelerated ---- */

static long closing_Finalize(void)
{
    long result = ((type_Finalize *)dispatch_onward[CALL_Finalize])();
    dispatch_close();
    return result;
}

static long closing_Session_finalize(long a)
{
    long result = ((type_Session_finalize *)dispatch_onward[CALL_Session_finalize])(a);
    dispatch_close();
    return result;
}

static mpi_fn *closer_of(enum call call)
{
    return call == CALL_Finalize           ? (mpi_fn *)closing_Finalize
           : call == CALL_Session_finalize ? (mpi_fn *)closing_Session_finalize
                                           : NULL;
}

/* ---- the first call ---- */

static struct dispatch_tables tables(void)
{
    return (struct dispatch_tables){
        .mpi = dispatch_mpi,
        .pmpi = dispatch_pmpi,
        .onward = dispatch_onward,
        .forwarder_of = forwarder_of,
        .recorder_of = recorder_of,
        .closer_of = closer_of,
    };
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool filled;

bool dispatch_open(void)
{
    if (atomic_load(&filled))
        return true;
    pthread_mutex_lock(&mutex);
    if (!atomic_load(&filled)) {
        struct dispatch_tables all = tables();
        atomic_store(&filled, host_open(&all));
    }
    pthread_mutex_unlock(&mutex);
    return atomic_load(&filled);
}

void dispatch_close(void)
{
    pthread_mutex_lock(&mutex);
    atomic_store(&filled, false);
    for (int call = 0; call < CALL_COUNT; call++) {
        __atomic_store_n(&dispatch_mpi[call], NULL, __ATOMIC_RELAXED);
        __atomic_store_n(&dispatch_pmpi[call], NULL, __ATOMIC_RELAXED);
    }
    host_close();
    pthread_mutex_unlock(&mutex);
}

void dispatch_restart(void)
{
    pthread_mutex_lock(&mutex);
    struct dispatch_tables all = tables();
    host_restart(&all);
    pthread_mutex_unlock(&mutex);
}
