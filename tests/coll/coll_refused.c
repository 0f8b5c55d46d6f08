/* The OS refuses to copy between the ranks, although it did not when the communicator was set up:
 * because some rank has called prctl(PR_SET_DUMPABLE) (argument: process), because pages of the
 * buffers are not accessible until their owner touches them (argument: pages), or because a filter
 * of the calling thread forbids the system calls (argument: seccomp). Every collective returns
 * success and the right data on every rank.
 *
 * Each call is made on a new communicator, because the library stops asking the OS once it has
 * refused. Ranks of a privileged user first give up the capability to access all processes. */
#include "coll.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROOT = 1, PAGE = 65536, ALL = -1 };

static bool protects;  /* pages, instead of forbidding access to the process */
static bool filters;   /* system calls */
static int restricted; /* the rank, or ALL */
static long elements;  /* of a block */
static bool strided, in_place;
static MPI_Datatype block_type; /* a block of the collectives that move data */
static MPI_Op user_sum;
static int counts[64], displs[64], byte_displs[64];
static MPI_Datatype types[64];
static MPI_Comm comm;

static bool is_restricted(void)
{
    return restricted == ALL || restricted == test_rank;
}

/* ---- buffers ---- */

struct memory {
    long *at;
    size_t bytes;
};

static struct memory obtain(int blocks)
{
    size_t bytes = (size_t)blocks * (size_t)elements * 2 * sizeof(long) + 3 * PAGE;
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED, "no memory");
    return (struct memory){at, bytes};
}

static void give_back(struct memory m)
{
    munmap(m.at, m.bytes);
}

/* Element i of a block, in the program's layout. */
static long *element(struct memory m, int block, long i)
{
    return m.at + ((long)block * elements + i) * (strided ? 2 : 1);
}

static long value(int from, int to, long i)
{
    return from * 1000003L + to * 5003L + i * 7 + (long)coll_turn * 11;
}

static void fill(struct memory m, int block, int from, int to)
{
    for (long i = 0; i < elements; i++)
        *element(m, block, i) = value(from, to, i);
}

/* A block is the sum of those of ranks [first, last] for `to`. */
static void expect(const char *what, struct memory m, int block, int first, int last, int to)
{
    long wrong = 0;
    for (long i = 0; i < elements; i++) {
        long sum = 0;
        for (int r = first; r <= last; r++)
            sum += value(r, to, i);
        wrong += *element(m, block, i) != sum;
    }
    CHECK(!wrong, "%s%s%s of %ld, rank %d restricted: %ld wrong", what, strided ? " strided" : "",
          in_place ? " in place" : "", elements, restricted, wrong);
}

/* ---- what the OS refuses ---- */

static void lose_capability(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    CHECK(!syscall(SYS_capget, &header, data), "capget: %m");
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    data[0].inheritable &= ~(1u << CAP_SYS_PTRACE);
    CHECK(!syscall(SYS_capset, &header, data), "capset: %m");
}

static void give_access(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    char *page = (char *)((uintptr_t)info->si_addr / PAGE * PAGE);
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE))
        _exit(3);
}

static void restrict_pages(struct memory m, int access)
{
    for (size_t at = PAGE; at + PAGE < m.bytes; at += 3 * PAGE)
        mprotect((char *)m.at + at, PAGE, access);
}

static void begin(struct memory from, struct memory to)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    coll_warm(comm);
    if (is_restricted() && protects) {
        restrict_pages(from, PROT_NONE);
        restrict_pages(to, PROT_READ);
    } else if (is_restricted() && !filters) {
        prctl(PR_SET_DUMPABLE, 0);
    }
    MPI_Barrier(comm);
}

static void end(const char *what, int result)
{
    CHECK(result == MPI_SUCCESS, "%s: error, rank %d restricted", what, restricted);
    MPI_Barrier(comm);
    prctl(PR_SET_DUMPABLE, 1);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    coll_turn++;
}

static void install_filter(void)
{
    enum { AT = offsetof(struct seccomp_data, nr) };
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs: %m");
    CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "seccomp: %m");
}

/* A collective call. */
struct call {
    int (*perform)(const struct call *call);
    int which, result;
    struct memory from, to;
    MPI_Op op;
};

static void *in_thread(void *argument)
{
    struct call *c = argument;
    install_filter();
    c->result = c->perform(c);
    return NULL;
}

/* A filter cannot be removed, so a thread that ends after the call installs it. */
static int perform(struct call *c)
{
    pthread_t thread;
    if (!filters || !is_restricted())
        return c->perform(c);
    CHECK(!pthread_create(&thread, NULL, in_thread, c), "no thread");
    pthread_join(thread, NULL);
    return c->result;
}

/* ---- data movement ---- */

enum {
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    MOVES
};
static const char *const move_names[] = {
    "MPI_Bcast",     "MPI_Gather",     "MPI_Gatherv",  "MPI_Scatter",   "MPI_Scatterv",
    "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv", "MPI_Alltoallw"};

static bool sends_to_all(int which)
{
    return which >= ALLTOALL || which == SCATTER || which == SCATTERV;
}

/* The data of this rank before the call: in `to` where the call is in place. */
static void prepare(int which, struct memory from, struct memory to)
{
    bool rooted = which == GATHER || which == GATHERV;
    bool own = in_place && (which >= ALLGATHER || (rooted && test_rank == ROOT));
    if (which == BCAST)
        fill(from, 0, test_rank == ROOT ? ROOT : 77, 0);
    else if (sends_to_all(which))
        for (int r = 0; r < test_size; r++)
            fill(own ? to : from, r, test_rank, r);
    else
        fill(own ? to : from, own ? test_rank : 0, test_rank, 0);
}

static void check(int which, struct memory from, struct memory to)
{
    const char *what = move_names[which];
    bool root = test_rank == ROOT, scatters = which == SCATTER || which == SCATTERV;
    if (which == BCAST)
        expect(what, from, 0, ROOT, ROOT, 0);
    else if (scatters && !(in_place && root))
        expect(what, to, 0, ROOT, ROOT, test_rank);
    else if (!scatters && (which >= ALLGATHER || root))
        for (int r = 0; r < test_size; r++)
            expect(what, to, r, r, r, sends_to_all(which) ? test_rank : 0);
}

static int call(const struct call *c)
{
    struct memory from = c->from, to = c->to;
    int which = c->which;
    MPI_Datatype t = block_type;
    bool root = test_rank == ROOT;
    void *in = in_place && (which >= ALLGATHER || root) ? MPI_IN_PLACE : (void *)from.at;
    void *out = in_place && root ? MPI_IN_PLACE : (void *)to.at;
    switch (which) {
    case BCAST:
        return MPI_Bcast(from.at, 1, t, ROOT, comm);
    case GATHER:
        return MPI_Gather(in, 1, t, to.at, 1, t, ROOT, comm);
    case GATHERV:
        return MPI_Gatherv(in, 1, t, to.at, counts, displs, t, ROOT, comm);
    case SCATTER:
        return MPI_Scatter(from.at, 1, t, out, 1, t, ROOT, comm);
    case SCATTERV:
        return MPI_Scatterv(from.at, counts, displs, t, out, 1, t, ROOT, comm);
    case ALLGATHER:
        return MPI_Allgather(in, 1, t, to.at, 1, t, comm);
    case ALLGATHERV:
        return MPI_Allgatherv(in, 1, t, to.at, counts, displs, t, comm);
    case ALLTOALL:
        return MPI_Alltoall(in, 1, t, to.at, 1, t, comm);
    case ALLTOALLV:
        return MPI_Alltoallv(in, counts, displs, t, to.at, counts, displs, t, comm);
    default:
        return MPI_Alltoallw(in, counts, byte_displs, types, to.at, counts, byte_displs, types,
                             comm);
    }
}

static void move(int which)
{
    struct memory from = obtain(test_size), to = obtain(test_size);
    prepare(which, from, to);
    begin(from, to);
    int result = perform(&(struct call){.perform = call, .which = which, .from = from, .to = to});
    end(move_names[which], result);
    coll_turn--;
    check(which, from, to);
    coll_turn++;
    give_back(from);
    give_back(to);
}

/* ---- reductions ---- */

enum { REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, REDUCTIONS };
static const char *const reduction_names[] = {"MPI_Reduce",         "MPI_Allreduce",
                                              "MPI_Scan",           "MPI_Exscan",
                                              "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"};

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const long *a = in;
    long *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] += a[i];
}

static int reduce(const struct call *c)
{
    struct memory from = c->from, to = c->to;
    void *in = in_place ? MPI_IN_PLACE : (void *)from.at;
    MPI_Op op = c->op;
    int n = (int)elements, shares[64];
    for (int r = 0; r < test_size; r++)
        shares[r] = n;
    switch (c->which) {
    case REDUCE:
        return MPI_Reduce(test_rank == ROOT ? in : from.at, to.at, n, MPI_LONG, op, ROOT, comm);
    case ALLREDUCE:
        return MPI_Allreduce(in, to.at, n, MPI_LONG, op, comm);
    case SCAN:
        return MPI_Scan(in, to.at, n, MPI_LONG, op, comm);
    case EXSCAN:
        return MPI_Exscan(in, to.at, n, MPI_LONG, op, comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(in, to.at, shares, MPI_LONG, op, comm);
    default:
        return MPI_Reduce_scatter_block(in, to.at, n, MPI_LONG, op, comm);
    }
}

static void check_reduction(int which, struct memory to)
{
    const char *what = reduction_names[which];
    if (which == SCAN || (which == EXSCAN && test_rank))
        expect(what, to, 0, 0, test_rank - (which == EXSCAN), 0);
    else if (which >= REDUCE_SCATTER)
        expect(what, to, 0, 0, test_size - 1, test_rank);
    else if (which == ALLREDUCE || (which == REDUCE && test_rank == ROOT))
        expect(what, to, 0, 0, test_size - 1, 0);
}

static void combine(int which, MPI_Op op)
{
    struct memory from = obtain(test_size), to = obtain(test_size);
    bool own = in_place && (which != REDUCE || test_rank == ROOT);
    for (int r = 0; r < (which >= REDUCE_SCATTER ? test_size : 1); r++)
        fill(own ? to : from, r, test_rank, r);
    begin(from, to);
    int result = perform(
        &(struct call){.perform = reduce, .which = which, .from = from, .to = to, .op = op});
    end(reduction_names[which], result);
    coll_turn--;
    check_reduction(which, to);
    coll_turn++;
    give_back(from);
    give_back(to);
}

/* ---- all ---- */

static void make_type(void)
{
    MPI_Datatype vector;
    int n = (int)elements;
    MPI_Type_vector(n, 1, strided ? 2 : 1, MPI_LONG, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)sizeof(long) * n * (strided ? 2 : 1), &block_type);
    MPI_Type_free(&vector);
    MPI_Type_commit(&block_type);
    for (int r = 0; r < test_size; r++) {
        counts[r] = 1;
        displs[r] = r;
        byte_displs[r] = (int)sizeof(long) * r * n * (strided ? 2 : 1);
        types[r] = block_type;
    }
}

static void all_calls(long bytes)
{
    elements = bytes / (long)sizeof(long);
    for (int form = 0; form < 3; form++) {
        strided = form == 1;
        in_place = form == 2;
        make_type();
        for (int which = 0; which < MOVES; which++)
            move(which);
        MPI_Type_free(&block_type);
    }
    strided = false;
    for (int form = 0; form < 3; form++) {
        in_place = form == 1;
        for (int which = 0; which < REDUCTIONS; which++)
            combine(which, form == 2 ? user_sum : MPI_SUM);
    }
    in_place = false;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    protects = argc > 1 && !strcmp(argv[1], "pages");
    filters = argc > 1 && !strcmp(argv[1], "seccomp");
    struct sigaction action = {.sa_sigaction = give_access, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (protects)
        sigaction(SIGSEGV, &action, NULL);
    else
        lose_capability();
    MPI_Op_create(add, 0, &user_sum);
    for (restricted = ALL; restricted < 2; restricted++) {
        all_calls(32 << 10);
        all_calls(4 << 20);
    }
    MPI_Op_free(&user_sum);
    return test_end();
}
