#include "pmpi_wrap/abi/windows/host_window.h"

#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/life_cycle/init_finalize.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/abi/windows/window.h"

/* Each takes memory and a context of the host. */
enum { KEPT_MAX = 32, KEPT_PER_GROUP = 8 };

/* In an offer: the host's window will not be kept. */
#define NOT_KEPT UINT64_MAX

struct kept {
    uint64_t number; /* 0: not kept yet, room for a window that is being freed */
    uint64_t ranks;  /* a hash of them */
    MPI_Win win;
    uint32_t size, rank;
    bool shared;
    bool offered; /* by a thread that is creating a window */
};

static struct kept kept[KEPT_MAX];
static unsigned kept_count; /* with those that are being freed */
static bool open;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* for all of these */

/* The error handler of a new window. */
static _Atomic uintptr_t first_handler;

/* ---- the list ---- */

/* Remove and return an entry. The order of the list has no meaning. */
static struct kept take_kept(struct kept *k)
{
    struct kept taken = *k;
    *k = kept[--kept_count];
    return taken;
}

static struct kept *kept_entry(uint64_t number)
{
    for (unsigned i = 0; i < kept_count; i++)
        if (kept[i].number == number)
            return &kept[i];
    return NULL;
}

static bool fits(const struct kept *k, const struct comm_properties *s, bool shared)
{
    return k->number && !k->offered && k->ranks == s->ranks && k->size == (uint32_t)s->size &&
           k->rank == (uint32_t)s->rank && k->shared == shared;
}

/* Offer the lowest number that fits. 0: none */
static uint64_t offer_lowest(const struct comm_properties *s, bool shared)
{
    struct kept *lowest = NULL;
    for (unsigned i = 0; i < kept_count; i++)
        if (fits(&kept[i], s, shared) && (!lowest || kept[i].number < lowest->number))
            lowest = &kept[i];
    if (lowest)
        lowest->offered = true;
    return lowest ? lowest->number : 0;
}

/* Make room for a window that is being freed, before the ranks agree to keep it. */
static bool reserve(uint64_t ranks)
{
    unsigned of_group = 0;
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < kept_count; i++)
        of_group += kept[i].ranks == ranks;
    bool room = open && kept_count < KEPT_MAX && of_group < KEPT_PER_GROUP;
    if (room)
        kept[kept_count++] = (struct kept){.ranks = ranks};
    pthread_mutex_unlock(&mutex);
    return room;
}

/* Which of several reservations is used does not matter. */
static struct kept *reserved_entry(uint64_t ranks)
{
    struct kept *k = kept;
    while (k->number || k->ranks != ranks)
        k++;
    return k;
}

/* ---- creating ---- */

static bool is_shared(const struct window_request *r)
{
    return r->flavor == MPI_WIN_FLAVOR_SHARED;
}

/* Numbers of different leaders differ in the lower bits. */
static uint64_t next_number(void)
{
    static _Atomic uint64_t last;
    enum { MEMBER_BITS = 20 };
    return (++last << MEMBER_BITS) + node.me;
}

void host_window_offer(const struct window_request *r, const struct comm_properties *s,
                       struct win_offer *offer)
{
    offer->kept = NOT_KEPT;
    if (offer->reason != REASON_NONE)
        return;
    pthread_mutex_lock(&mutex);
    if (open && r->info == constants.info_null && !sessions_were_used())
        offer->kept = offer_lowest(s, is_shared(r));
    pthread_mutex_unlock(&mutex);
    if (!s->rank)
        offer->number = next_number();
}

void host_window_withdraw(const struct win_offer *offer)
{
    if (!offer->kept || offer->kept == NOT_KEPT)
        return;
    pthread_mutex_lock(&mutex);
    struct kept *k = kept_entry(offer->kept);
    if (k) /* it is gone if another thread has called MPI_Finalize, which is an error */
        k->offered = false;
    pthread_mutex_unlock(&mutex);
}

/* If each rank has kept this number with this rank of its own, the window has the same ranks in the
 * same order: the hash only finds candidates. */
struct host_window_choice host_window_choose(const struct win_offer *offers, uint32_t size)
{
    bool same = offers[0].kept != 0;
    for (uint32_t r = 0; r < size; r++) {
        if (offers[r].kept == NOT_KEPT)
            return (struct host_window_choice){0};
        same &= offers[r].kept == offers[0].kept;
    }
    return (struct host_window_choice){same ? offers[0].kept : offers[0].number, same};
}

/* Open MPI 4.1 may refuse MPI_Win_create on a communicator of one process, depending on its
 * components (https://github.com/open-mpi/ompi/issues/10726). */
static bool host_refuses_one_rank(void)
{
    static enum { UNKNOWN, NO, YES } refuses; /* read and written under the lock */
    MPI_Win win;
    MPI_Comm comm = private_comm_lock();
    if (refuses == UNKNOWN) {
        enter_host();
        refuses = host.Win_create(NULL, 0, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS ? NO : YES;
        if (refuses == NO)
            host.Win_free(&win);
        leave_host();
    }
    bool answer = refuses == YES;
    private_comm_unlock();
    return answer;
}

static int create_in_host(const struct window_request *r, int size, MPI_Win *win)
{
    void *unused;
    if (is_shared(r))
        return host.Win_allocate_shared(0, 1, r->info, r->comm, &unused, win);
    return size == 1 && host_refuses_one_rank()
               ? host.Win_allocate(0, 1, r->info, r->comm, &unused, win)
               : host.Win_create(NULL, 0, 1, r->info, r->comm, win);
}

/* Read the error handler of a new window, and take away the name that Open MPI's component osc/rdma
 * gives it (MPI-4.0, 7.8: a window that the program has not named has an empty name). */
static bool make_uniform(MPI_Win win)
{
    MPI_Errhandler handler;
    if (host.Win_set_name(win, "") != MPI_SUCCESS ||
        host.Win_get_errhandler(win, &handler) != MPI_SUCCESS)
        return false;
    first_handler = BITS(handler);
    return host.Errhandler_free(&handler) == MPI_SUCCESS;
}

int host_window_get(const struct window_request *r, const struct comm_properties *s,
                    struct host_window_choice choice, MPI_Win *win, struct win_below *below)
{
    *below = (struct win_below){choice.number, s->ranks, is_shared(r), false};
    if (choice.kept) {
        pthread_mutex_lock(&mutex);
        *win = take_kept(kept_entry(choice.number)).win;
        pthread_mutex_unlock(&mutex);
        log_message(3, "%s: uses a window of the host again", call_names[r->call]);
        return MPI_SUCCESS;
    }
    int result = create_in_host(r, s->size, win);
    if (result == MPI_SUCCESS && choice.number)
        below->changed = !make_uniform(*win);
    return result;
}

/* ---- freeing ---- */

void host_window_changed(MPI_Win win)
{
    struct win *fast = fast_window(win);
    if (fast)
        fast->below.changed = true;
}

bool host_window_may_keep(struct win *fast)
{
    const struct win_below *below = &fast->below;
    if (!below->number)
        return false;
    bool can = !below->changed && !sessions_were_used() && reserve(below->ranks);
    if (win_may_keep(fast, can))
        return true;
    if (can) {
        pthread_mutex_lock(&mutex);
        take_kept(reserved_entry(below->ranks));
        pthread_mutex_unlock(&mutex);
    }
    return false;
}

void host_window_freed(void)
{
    pthread_mutex_lock(&mutex);
    open = false;
    pthread_mutex_unlock(&mutex);
}

void host_window_keep(MPI_Win win, const struct win *fast)
{
    const struct win_below *below = &fast->below;
    MPI_Errhandler handler = HANDLE_OF(MPI_Errhandler, first_handler);
    bool reset = host.Win_set_name(win, "") == MPI_SUCCESS &&
                 host.Win_set_errhandler(win, handler) == MPI_SUCCESS;
    uint32_t size = reset ? fast->size : 0; /* 0: it is never offered */
    pthread_mutex_lock(&mutex);
    *reserved_entry(below->ranks) =
        (struct kept){below->number, below->ranks, win, size, fast->rank, below->shared, false};
    pthread_mutex_unlock(&mutex);
}

/* ---- the life of the host ---- */

void host_windows_open(void)
{
    pthread_mutex_lock(&mutex);
    open = true;
    pthread_mutex_unlock(&mutex);
}

static bool take_lowest(struct kept *lowest)
{
    pthread_mutex_lock(&mutex);
    bool any = kept_count;
    open = false;
    if (any) {
        struct kept *first = kept;
        for (unsigned i = 1; i < kept_count; i++)
            if (kept[i].number < first->number)
                first = &kept[i];
        *lowest = take_kept(first);
    }
    pthread_mutex_unlock(&mutex);
    return any;
}

void host_windows_close(void)
{
    struct kept k;
    unsigned freed = 0;
    for (; take_lowest(&k); freed++) {
        enter_host();
        host.Win_free(&k.win);
        leave_host();
    }
    if (freed)
        log_message(3, "%u windows of the host that had been kept are freed", freed);
}

void host_windows_forget(void)
{
    pthread_mutex_lock(&mutex);
    kept_count = 0;
    pthread_mutex_unlock(&mutex);
}
