/* random_communicators: random programs with windows and collectives on communicators that share
 * ranks, in which a rank is often late while the others continue on other communicators. Each
 * program is determined by a seed and the number of ranks, but for the times at which ranks are
 * late. It fails if data are wrong, or hangs.
 *
 *   random_communicators [--seed S] [--seeds N] [--steps N]   N programs from seed S on
 *
 * All ranks draw the same steps, so each rank knows those in which it takes part. A timer signal,
 * whose handler sleeps, delays each rank anywhere, also inside of MPI calls. */
#include "common.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { COMMS = 24, WINDOWS = 24, WORDS = 64, SHORT = 12, LONG = 20000 };
enum { GAP_MIN_US = 500, GAP_MAX_US = 25000, DELAY_MAX_US = 30000 };

static struct rng plan;   /* the same on all ranks */
static struct rng own;    /* what may differ between ranks */
static struct rng delays; /* only for the signal handler */

/* ---- late ranks ---- */

static void arm_timer(void)
{
    struct itimerval gap = {.it_value.tv_usec = between(&delays, GAP_MIN_US, GAP_MAX_US)};
    setitimer(ITIMER_REAL, &gap, NULL);
}

static void be_late(int number)
{
    (void)number;
    struct timespec delay = {.tv_nsec = between(&delays, 0, DELAY_MAX_US) * 1000};
    if (chance(&delays, 50))
        nanosleep(&delay, NULL);
    arm_timer();
}

static void stop_timer(void)
{
    struct itimerval never = {0};
    setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- communicators ---- */

/* `members` and `left` are sets of ranks in MPI_COMM_WORLD, one bit each. `left` is one group of an
 * intercommunicator, and empty for other communicators. */
struct comm {
    bool used;
    unsigned members, left;
    MPI_Comm handle;
};
static struct comm comms[COMMS]; /* the first one is MPI_COMM_WORLD */

static bool is_in(unsigned ranks)
{
    return ranks >> world_rank & 1;
}

static unsigned part_of(unsigned ranks)
{
    unsigned part;
    do
        part = ranks & (unsigned)rng_next(&plan);
    while (!part);
    return part;
}

static struct comm *any_comm(void)
{
    struct comm *c;
    do
        c = &comms[below(&plan, COMMS)];
    while (!c->used);
    return c;
}

static MPI_Group group_of(unsigned ranks)
{
    int list[RANKS_MAX], n = 0;
    MPI_Group world, group;
    for (int r = 0; r < world_size; r++)
        if (ranks >> r & 1)
            list[n++] = r;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, list, &group);
    MPI_Group_free(&world);
    return group;
}

/* The leader of the other group is its first rank in MPI_COMM_WORLD, as in by_intercomm(). */
static int leader_in(MPI_Comm parent, unsigned ranks)
{
    int first = 0, leader;
    MPI_Group group = group_of(ranks), all;
    MPI_Comm_group(parent, &all);
    MPI_Group_translate_ranks(group, 1, &first, all, &leader);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return leader;
}

static MPI_Comm by_intercomm(MPI_Comm parent, unsigned left, unsigned right, int tag)
{
    MPI_Comm local, made;
    MPI_Comm_split(parent, is_in(left), world_rank, &local);
    MPI_Intercomm_create(local, 0, parent, leader_in(parent, is_in(left) ? right : left), tag,
                         &made);
    MPI_Comm_free(&local);
    return made;
}

enum way { DUP, IDUP, SPLIT, CREATE, CREATE_GROUP, INTERCOMM, WAYS };

static MPI_Comm create(const struct comm *parent, enum way way, unsigned part, int tag, bool turned)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Group group = group_of(part);
    if (way == DUP)
        MPI_Comm_dup(parent->handle, &made);
    else if (way == IDUP) {
        MPI_Comm_idup(parent->handle, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (way == SPLIT)
        MPI_Comm_split(parent->handle, is_in(part) ? 0 : MPI_UNDEFINED,
                       turned ? world_size - world_rank : world_rank, &made);
    else if (way == CREATE)
        MPI_Comm_create(parent->handle, group, &made);
    else if (way == CREATE_GROUP) /* MPICH 4.0.2 alone may crash with other parents */
        MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made);
    else
        made = by_intercomm(parent->handle, part, parent->members & ~part, tag);
    MPI_Group_free(&group);
    return made;
}

static void create_comm(void)
{
    const struct comm *parent = any_comm();
    struct comm *made = &comms[below(&plan, COMMS)];
    enum way way = parent->left ? DUP : (enum way)below(&plan, WAYS);
    unsigned part = part_of(parent->members);
    int tag = (int)below(&plan, 100);
    bool turned = chance(&plan, 50), same = way == DUP || way == IDUP || way == INTERCOMM;
    if (made->used || (way == INTERCOMM && part == parent->members))
        return;
    *made = (struct comm){true, same ? parent->members : part, parent->left, MPI_COMM_NULL};
    if (way == INTERCOMM)
        made->left = part;
    if (is_in(way == CREATE_GROUP ? part : parent->members))
        made->handle = create(parent, way, part, tag, turned);
}

static void free_comm(struct comm *c, bool disconnect)
{
    if (!c->used || c == comms)
        return;
    c->used = false;
    if (!is_in(c->members))
        return;
    if (disconnect)
        MPI_Comm_disconnect(&c->handle);
    else
        MPI_Comm_free(&c->handle);
}

/* ---- collectives ---- */

enum kind { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, ALLTOALL, KINDS };

struct call {
    enum kind kind;
    int rank, size, root, length;
    uint64_t seed;
};

static uint64_t *private_memory[2], *shared_memory[2];

static void get_memory(void)
{
    size_t bytes = sizeof(uint64_t) * LONG * (size_t)world_size;
    for (int i = 0; i < 2; i++) {
        private_memory[i] = malloc(bytes);
        MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &shared_memory[i]);
    }
}

static void free_memory(void)
{
    for (int i = 0; i < 2; i++) {
        free(private_memory[i]);
        MPI_Free_mem(shared_memory[i]);
    }
}

static uint64_t sent(const struct call *c, int rank, int i)
{
    return mix(c->seed + ((uint64_t)rank << 32) + (uint64_t)i);
}

static uint64_t expected(const struct call *c, int i)
{
    uint64_t sum = 0;
    if (c->kind == BCAST)
        return sent(c, c->root, i);
    if (c->kind == GATHER)
        return sent(c, i / c->length, i % c->length);
    if (c->kind == ALLTOALL)
        return sent(c, i / c->length, c->rank * c->length + i % c->length);
    for (int r = 0; r < c->size; r++)
        sum += sent(c, r, i);
    return sum;
}

static void perform(const struct call *c, MPI_Comm comm, const uint64_t *in, uint64_t *out)
{
    if (c->kind == BARRIER)
        MPI_Barrier(comm);
    else if (c->kind == BCAST)
        MPI_Bcast(out, c->length, MPI_UINT64_T, c->root, comm);
    else if (c->kind == REDUCE)
        MPI_Reduce(in, out, c->length, MPI_UINT64_T, MPI_SUM, c->root, comm);
    else if (c->kind == ALLREDUCE)
        MPI_Allreduce(in, out, c->length, MPI_UINT64_T, MPI_SUM, comm);
    else if (c->kind == GATHER)
        MPI_Gather(in, c->length, MPI_UINT64_T, out, c->length, MPI_UINT64_T, c->root, comm);
    else
        MPI_Alltoall(in, c->length, MPI_UINT64_T, out, c->length, MPI_UINT64_T, comm);
}

static void perform_and_check(const struct call *c, MPI_Comm comm)
{
    uint64_t *in = chance(&own, 50) ? private_memory[0] : shared_memory[0];
    uint64_t *out = chance(&own, 50) ? private_memory[1] : shared_memory[1];
    bool rooted = c->kind == REDUCE || c->kind == GATHER;
    int received = c->kind == BARRIER || (rooted && c->rank != c->root) ? 0 : c->length;
    if (c->kind == GATHER || c->kind == ALLTOALL)
        received *= c->size;
    for (int i = 0; i < c->length * (c->kind == ALLTOALL ? c->size : 1); i++)
        in[i] = sent(c, c->rank, i);
    for (int i = 0; i < received; i++)
        out[i] = c->kind == BCAST && c->rank == c->root ? in[i] : 0;
    perform(c, comm, in, out);
    for (int i = 0; i < received; i++)
        if (out[i] != expected(c, i))
            give_up("collective %d, length %d: element %d is wrong", c->kind, c->length, i);
}

static void use_intercomm(const struct comm *c)
{
    unsigned mine = 1u << world_rank, found = 0;
    MPI_Allreduce(&mine, &found, 1, MPI_UNSIGNED, MPI_BOR, c->handle);
    if (found != (is_in(c->left) ? c->members & ~c->left : c->left))
        give_up("allreduce on an intercommunicator: %x", found);
}

static void use_comm(void)
{
    const struct comm *c = any_comm();
    struct call call = {.kind = (enum kind)below(&plan, KINDS), .seed = rng_next(&plan)};
    int times = (int)between(&plan, 1, 4);
    call.length = (int)between(&plan, 1, chance(&plan, 30) ? LONG : SHORT);
    if (!is_in(c->members))
        return;
    MPI_Comm_size(c->handle, &call.size);
    MPI_Comm_rank(c->handle, &call.rank);
    call.root = (int)(call.seed % (uint64_t)call.size);
    for (; times > 0; times--, call.seed++)
        if (c->left)
            use_intercomm(c);
        else
            perform_and_check(&call, c->handle);
}

/* ---- windows ---- */

enum flavor { ALLOCATED, ALLOCATED_TOO, SHARED, CREATED, CREATED_PRIVATE, FLAVORS };

/* A window is used either with fences or with locks, since MPICH 4.0.2 loses data otherwise. */
struct window {
    bool used, locks, added;
    enum flavor flavor;
    unsigned members;
    MPI_Win handle;
    uint64_t *memory;
    uint64_t sum; /* what this rank has added in the memory of the next rank */
};
static struct window windows[WINDOWS];
static int keyval;

static MPI_Info info_for(const struct window *w)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, w->locks ? "accumulate_ordering" : "no_locks", w->locks ? "none" : "true");
    return info;
}

static void open_window(struct window *w, MPI_Comm comm, MPI_Info info)
{
    MPI_Aint bytes = WORDS * sizeof *w->memory;
    int unit = sizeof *w->memory;
    if (w->flavor == SHARED)
        MPI_Win_allocate_shared(bytes, unit, info, comm, &w->memory, &w->handle);
    else if (w->flavor == CREATED || w->flavor == CREATED_PRIVATE) {
        if (w->flavor == CREATED)
            MPI_Alloc_mem(bytes, MPI_INFO_NULL, &w->memory);
        else
            w->memory = malloc((size_t)bytes);
        MPI_Win_create(w->memory, bytes, unit, info, comm, &w->handle);
    } else
        MPI_Win_allocate(bytes, unit, info, comm, &w->memory, &w->handle);
}

static void create_window(void)
{
    const struct comm *c = any_comm();
    struct window *w = &windows[below(&plan, WINDOWS)];
    bool locks = chance(&plan, 50), with_info = chance(&plan, 15),
         with_attribute = chance(&plan, 15);
    enum flavor flavor = (enum flavor)below(&plan, FLAVORS);
    int owner = (int)below(&plan, world_size);
#ifdef MPICH_VERSION
    /* MPICH 4.0.2 may fail an assertion in windows over private memory. */
    if (flavor == CREATED_PRIVATE)
        flavor = CREATED;
#endif
    /* There is no window of one rank, as none of its ranks would be late. */
    if (w->used || c->left || !(c->members & (c->members - 1)))
        return;
    *w = (struct window){.used = true, .locks = locks, .flavor = flavor, .members = c->members};
    if (!is_in(w->members))
        return;
    MPI_Info info = with_info ? info_for(w) : MPI_INFO_NULL;
    open_window(w, c->handle, info);
    if (with_info)
        MPI_Info_free(&info);
    if (with_attribute && world_rank == owner)
        MPI_Win_set_attr(w->handle, keyval, NULL);
}

/* Each rank puts into the memory of the next one. */
static void put(const struct window *w, int rank, int size, uint64_t seed)
{
    struct call data = {.seed = seed};
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = sent(&data, rank, i);
    MPI_Win_fence(0, w->handle);
    MPI_Put(words, WORDS, MPI_UINT64_T, (rank + 1) % size, 0, WORDS, MPI_UINT64_T, w->handle);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->handle);
    for (int i = 0; i < WORDS; i++)
        if (w->memory[i] != sent(&data, (rank + size - 1) % size, i))
            give_up("window of flavor %d: word %d is wrong", w->flavor, i);
}

/* Only this rank accesses the first word of the next rank, so it can check the sum alone. The first
 * operation replaces the word, whose initial value another rank would have to set in time. */
static void add(struct window *w, int rank, int size, uint64_t value)
{
    uint64_t found = 0;
    int target = (rank + 1) % size;
    w->sum += value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->handle);
    MPI_Accumulate(&value, 1, MPI_UINT64_T, target, 0, 1, MPI_UINT64_T,
                   w->added ? MPI_SUM : MPI_REPLACE, w->handle);
    MPI_Win_flush(target, w->handle);
    MPI_Get(&found, 1, MPI_UINT64_T, target, 0, 1, MPI_UINT64_T, w->handle);
    MPI_Win_unlock(target, w->handle);
    w->added = true;
    if (found != w->sum)
        give_up("window of flavor %d: the sum is wrong", w->flavor);
}

static void use_window(struct window *w)
{
    int rank, size;
    MPI_Group group;
    uint64_t seed = rng_next(&plan);
    if (!w->used || !is_in(w->members))
        return;
    MPI_Win_get_group(w->handle, &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    MPI_Group_free(&group);
    if (w->locks)
        add(w, rank, size, seed);
    else
        put(w, rank, size, seed);
}

static void free_window(struct window *w)
{
    bool was_used = w->used;
    w->used = false;
    if (!was_used || !is_in(w->members))
        return;
    MPI_Win_free(&w->handle);
    if (w->flavor == CREATED)
        MPI_Free_mem(w->memory);
    else if (w->flavor == CREATED_PRIVATE)
        free(w->memory);
}

/* ---- programs ---- */

static void step(void)
{
    long what = below(&plan, 20);
    struct window *w = &windows[below(&plan, WINDOWS)];
    if (what < 3)
        create_comm();
    else if (what < 5)
        free_comm(any_comm(), chance(&plan, 12));
    else if (what < 9)
        use_comm();
    else if (what < 13)
        create_window();
    else if (what < 16)
        use_window(w);
    else
        free_window(w);
}

static void play(uint64_t seed, long steps)
{
    *progress = (struct progress){.seed = (int64_t)seed};
    plan = rng_for(seed, 0);
    own = rng_for(seed, 1 + (uint64_t)world_rank);
    for (; progress->op < steps; progress->op++)
        step();
    for (int i = 0; i < WINDOWS; i++)
        free_window(&windows[i]);
    for (int i = 0; i < COMMS; i++)
        free_comm(&comms[i], false);
}

int main(int argc, char **argv)
{
    struct run run = {.seed = 1, .seeds = 1};
    long steps = 2000;
    MPI_Init(&argc, &argv);
    open_world();
    for (int i = 1; i < argc; i++)
        if (!read_common_option(&run, argv, &i)) {
            if (strcmp(argv[i], "--steps") || !argv[i + 1])
                give_up("%s is not known", argv[i]);
            steps = atol(argv[++i]);
        }
    comms[0] = (struct comm){true, (1u << world_size) - 1, 0, MPI_COMM_WORLD};
    get_memory();
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    delays = rng_for(run.seed, 100 + (uint64_t)world_rank);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = be_late, .sa_flags = SA_RESTART}, NULL);
    arm_timer();
    for (long i = 0; i < run.seeds; i++)
        play(run.seed + (uint64_t)i, steps);
    stop_timer();
    MPI_Win_free_keyval(&keyval);
    free_memory();
    if (world_rank == 0)
        printf("ran %ld programs\n", run.seeds);
    MPI_Finalize();
    return 0;
}
