#include "pmpi_wrap/abi/windows/host_window.h"

#include "core/log.h"
#include "node/node.h"
#include "pmpi_wrap/abi/free_notice.h"
#include "pmpi_wrap/abi/life_cycle/init_finalize.h"
#include "pmpi_wrap/abi/windows/window.h"
#include "pmpi_wrap/quirks.h"
#include "rma_shm/kept.h"

#include <sys/stat.h>

/* The error handler of a new window. */
static _Atomic uintptr_t first_handler;

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
    if (r->info == constants.info_null && r->flavor != MPI_WIN_FLAVOR_DYNAMIC &&
        !sessions_were_used())
        offer->kept = kept_offer(
            (struct kept_group){s->ranks, (uint32_t)s->size, (uint32_t)s->rank, is_shared(r)});
    if (!s->rank)
        offer->number = next_number();
}

void host_window_withdraw(const struct win_offer *offer)
{
    kept_withdraw(offer->kept);
}

/* If all ranks offer a kept window with the same number, in which each has the same rank as in the
 * new window, that window has the same ranks in the same order: the hash of the ranks only finds
 * candidates. */
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

static __thread bool creates_alone;

bool host_window_is_created_alone(const struct comm_properties *s)
{
    bool may_collide = s->size > 1 && (uint32_t)s->size + 2 <= node.size;
    return quirk(QUIRK_WINDOW_FILES_COLLIDE) && !s->rank && may_collide;
}

/* No cycle of waits can arise: the ranks of a communicator whose rank 0 waits or has the word are
 * all in that call, so its creation depends on no other one. */
void host_window_create_alone(const struct comm_properties *s)
{
    enum { MOST_NS = 100 * 1000 * 1000 };
    if (!host_window_is_created_alone(s))
        return;
    host_window_created(); /* if an error handler has left the last call */
    struct sync_wait wait = SYNC_WAIT;
    uint64_t since = sync_now_ns();
    uint32_t nobody = 0;
    while (!atomic_compare_exchange_strong(&node.header->creates_window, &nobody, node.me + 1)) {
        if (sync_now_ns() - since > MOST_NS) {
            atomic_store(&node.header->creates_window, node.me + 1);
            break;
        }
        sync_pause(&wait);
        nobody = 0;
    }
    creates_alone = true;
}

/* The word remains unchanged if another rank has taken it after waiting for long. */
void host_window_created(void)
{
    uint32_t me = node.me + 1;
    if (creates_alone)
        atomic_compare_exchange_strong(&node.header->creates_window, &me, 0);
    creates_alone = false;
}

static bool have_same_shm(MPI_Comm comm)
{
    struct stat shm;
    uint64_t mine = stat("/dev/shm", &shm) ? 0 : shm.st_dev, least[2] = {mine, ~mine};
    host.Allreduce(MPI_IN_PLACE, least, 2, MPI_UINT64_T, MPI_MIN, comm);
    return least[0] == ~least[1];
}

/* MPI_Win_create or, if the host refuses it, MPI_Win_allocate. Refusal depends on the components
 * that the host has selected, so it is the same on all ranks. If they have different /dev/shm, the
 * host refuses the former, too, and the latter would not return on some ranks (seen in 4.1.4); the
 * program's error handler then gets the error. */
static int create_or_allocate(const struct window_request *r, MPI_Win *win)
{
    void *unused;
    MPI_Errhandler handler;
    host.Comm_get_errhandler(r->comm, &handler);
    host.Comm_set_errhandler(r->comm, MPI_ERRORS_RETURN);
    int result = host.Win_create(NULL, 0, 1, r->info, r->comm, win);
    host.Comm_set_errhandler(r->comm, handler);
    host.Errhandler_free(&handler);
    if (result == MPI_SUCCESS)
        return result;
    return have_same_shm(r->comm) ? host.Win_allocate(0, 1, r->info, r->comm, &unused, win)
                                  : host.Win_create(NULL, 0, 1, r->info, r->comm, win);
}

static int create_in_host(const struct window_request *r, int size, MPI_Win *win)
{
    void *unused;
    if (r->flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return host.Win_create_dynamic(r->info, r->comm, win);
    if (is_shared(r))
        return host.Win_allocate_shared(0, 1, r->info, r->comm, &unused, win);
    if (quirk(QUIRK_REFUSES_CREATE) && (size == 1 || r->flavor == MPI_WIN_FLAVOR_ALLOCATE))
        return create_or_allocate(r, win);
    return host.Win_create(NULL, 0, 1, r->info, r->comm, win);
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
        *win = HANDLE_OF(MPI_Win, kept_take(choice.number));
        log_message(3, "%s: uses a window of the host again", call_names[r->call]);
        return MPI_SUCCESS;
    }
    host_window_create_alone(s);
    int result = create_in_host(r, s->size, win);
    host_window_created();
    if (result == MPI_SUCCESS)
        free_notice_win(*win); /* a kept window keeps the attribute */
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
    bool can = !below->changed && !sessions_were_used() && kept_reserve(below->ranks);
    if (win_may_keep(fast, can))
        return true;
    if (can)
        kept_cancel(below->ranks);
    return false;
}

void host_window_keep(MPI_Win win, const struct win *fast)
{
    const struct win_below *below = &fast->below;
    MPI_Errhandler handler = HANDLE_OF(MPI_Errhandler, first_handler);
    bool reset = host.Win_set_name(win, "") == MPI_SUCCESS &&
                 host.Win_set_errhandler(win, handler) == MPI_SUCCESS;
    struct kept_group group = {below->ranks, fast->size, fast->rank, below->shared};
    if (!reset)
        group.size = 0; /* it is never offered */
    kept_add(group, below->number, BITS(win));
}

void host_windows_close(void)
{
    uintptr_t handle;
    unsigned freed = 0;
    kept_close();
    for (; kept_take_lowest(&handle); freed++) {
        MPI_Win win = HANDLE_OF(MPI_Win, handle);
        enter_host();
        host.Win_free(&win);
        leave_host();
    }
    if (freed)
        log_message(3, "%u windows of the host that had been kept are freed", freed);
}
