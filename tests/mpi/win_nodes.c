/* Windows of ranks on several nodes: a random program, and what has to be ordered. In such a window
 * the library performs put and get on targets of the same node, in passive target epochs, and
 * leaves everything else to the host. The test does not depend on which rank is where. */
#include "test.h"

#include <unistd.h>

enum { PART = 32, STEPS = 120, ROUNDS = 8, MESSAGES = 300, TURNS = 15 };

static MPI_Win win;
static MPI_Comm comm;
static int me, ranks, unit;
static int *memory; /* a part of PART elements for each origin */

static unsigned random_state;
static int below(int limit)
{
    random_state = random_state * 1103515245 + 12345;
    return (int)(random_state >> 8) % limit;
}

/* The unit of each rank differs. */
static MPI_Aint displacement(int target, int element)
{
    return (me * PART + element) * (MPI_Aint)sizeof(int) / (1 << target % 3);
}

/* The memory of a window. PRIVATE: other ranks cannot access it. */
enum kind { SHARED, PRIVATE, ALLOCATED };

static void *attribute(int keyval)
{
    void *value;
    int found = 0;
    MPI_Win_get_attr(win, keyval, &value, &found);
    CHECK(found, "keyval %d", keyval);
    return value;
}

static void allocate_window(MPI_Aint bytes)
{
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &memory, &win);
    CHECK(*(int *)attribute(MPI_WIN_CREATE_FLAVOR) == MPI_WIN_FLAVOR_ALLOCATE);
    CHECK(attribute(MPI_WIN_BASE) == memory);
    CHECK(*(MPI_Aint *)attribute(MPI_WIN_SIZE) == bytes);
    CHECK(*(int *)attribute(MPI_WIN_DISP_UNIT) == unit);
    memset(memory, 0xff, (size_t)bytes);
    MPI_Win_free(&win);
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &memory, &win);
    for (MPI_Aint i = 0; i < bytes && host_is("MPICH"); i++)
        CHECK(!((char *)memory)[i], "byte %ld is not 0, as programs expect", (long)i);
    memset(memory, 0, (size_t)bytes);
}

static void open_window(MPI_Comm of, enum kind kind)
{
    comm = of;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    size_t bytes = (size_t)ranks * PART * sizeof(int);
    bytes = (bytes + 63) / 64 * 64;
    unit = 1 << me % 3;
    if (kind == ALLOCATED) {
        allocate_window((MPI_Aint)(bytes + 64 * (size_t)me));
    } else {
        memory = kind == PRIVATE ? aligned_alloc(64, bytes) : window_memory(bytes);
        memset(memory, 0, bytes);
        MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, &win);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
}

static void close_window(enum kind kind)
{
    MPI_Win_free(&win);
    if (kind == PRIVATE)
        free(memory);
    else if (kind == SHARED)
        MPI_Free_mem(memory);
}

/* ---- a random program ----
 *
 * Each origin has a part of its own in the memory of each target, so it knows what is there. */

static int *model;           /* by target: my part */
static unsigned *unfinished; /* by target: a bit for each element with an operation not completed */
static int operands[STEPS][PART];
static MPI_Datatype every_second;

static unsigned mask(int first, int count, int stride)
{
    unsigned bits = 0;
    for (int i = 0; i < count; i++)
        bits |= 1u << (first + i * stride);
    return bits;
}

static void flush(int target)
{
    if (below(3)) {
        MPI_Win_flush(target, win);
        unfinished[target] = 0;
    } else {
        MPI_Win_flush_all(win);
        memset(unfinished, 0, (size_t)ranks * sizeof *unfinished);
    }
}

static void put(int target, int first, int count, int stride, int *from, bool request)
{
    MPI_Request done;
    MPI_Datatype type = stride == 1 ? MPI_INT : every_second;
    int copies = stride == 1 ? count : 1;
    if (request) {
        MPI_Rput(from, count, MPI_INT, target, displacement(target, first), copies, type, win,
                 &done);
        MPI_Wait(&done, MPI_STATUS_IGNORE);
    } else {
        MPI_Put(from, count, MPI_INT, target, displacement(target, first), copies, type, win);
    }
    for (int i = 0; i < count; i++)
        model[target * PART + first + i * stride] = from[i];
}

static void get(int target, int first, int count, bool request)
{
    MPI_Request done;
    int fetched[PART];
    memset(fetched, 0xff, sizeof fetched);
    if (request) {
        MPI_Rget(fetched, count, MPI_INT, target, displacement(target, first), count, MPI_INT, win,
                 &done);
        MPI_Wait(&done, MPI_STATUS_IGNORE);
    } else {
        MPI_Get(fetched, count, MPI_INT, target, displacement(target, first), count, MPI_INT, win);
        MPI_Win_flush(target, win);
        unfinished[target] = 0;
    }
    CHECK(!memcmp(fetched, &model[target * PART + first], (size_t)count * sizeof(int)),
          "%d elements from %d on of %d: %d", count, first, target, fetched[0]);
}

static void combine(int target, int first, int count, const int *from)
{
    int before;
    if (count == 1) {
        MPI_Fetch_and_op(from, &before, MPI_INT, target, displacement(target, first), MPI_SUM, win);
        MPI_Win_flush(target, win);
        unfinished[target] = 0;
        CHECK(before == model[target * PART + first], "%d: %d", target, before);
    } else {
        MPI_Accumulate(from, count, MPI_INT, target, displacement(target, first), count, MPI_INT,
                       MPI_SUM, win);
    }
    for (int i = 0; i < count; i++)
        model[target * PART + first + i] += from[i];
}

static void step(int target, int *from)
{
    enum {
        PUT,
        PUT_AGAIN,
        RPUT,
        STRIDED,
        GET,
        GET_AGAIN,
        RGET,
        COMBINE,
        FLUSH,
        LOCAL,
        NOBODY,
        KINDS
    };
    int kind = below(KINDS), stride = kind == STRIDED ? 2 : 1;
    int count = kind == STRIDED ? 4 : 1 + below(6), first = below(PART - 8);
    unsigned bits = mask(first, count, stride);
    for (int i = 0; i < count; i++)
        from[i] = below(1 << 20);
    if (kind <= COMBINE && (unfinished[target] & bits))
        flush(target);
    if (kind <= STRIDED || kind == COMBINE)
        unfinished[target] |= bits;
    if (kind <= STRIDED)
        put(target, first, count, stride, from, kind == RPUT);
    else if (kind <= RGET)
        get(target, first, count, kind == RGET);
    else if (kind == COMBINE)
        combine(target, first, count, from);
    else if (kind == FLUSH)
        flush(target);
    else if (kind == LOCAL)
        below(2) ? MPI_Win_flush_local(target, win) : MPI_Win_flush_local_all(win);
    else
        MPI_Put(from, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
}

/* What each origin has written into this rank's memory. */
static void check_memory(void)
{
    int *written = malloc((size_t)ranks * PART * sizeof *written);
    MPI_Alltoall(model, PART, MPI_INT, written, PART, MPI_INT, comm);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    for (int i = 0; i < ranks * PART; i++)
        CHECK(memory[i] == written[i], "element %d of origin %d: %d, not %d", i % PART, i / PART,
              memory[i], written[i]);
    MPI_Win_unlock(me, win);
    free(written);
    MPI_Barrier(comm);
}

static void random_program(int seed)
{
    random_state = (unsigned)(seed * 100 + me);
    model = calloc((size_t)ranks * PART, sizeof *model);
    unfinished = calloc((size_t)ranks, sizeof *unfinished);
    for (int round = 0; round < ROUNDS; round++) {
        bool all = round % 2;
        int only = below(ranks), type = below(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        all ? MPI_Win_lock_all(0, win) : MPI_Win_lock(type, only, 0, win);
        for (int s = 0; s < STEPS; s++)
            step(all ? below(ranks) : only, operands[s]);
        all ? MPI_Win_unlock_all(win) : MPI_Win_unlock(only, win);
        memset(unfinished, 0, (size_t)ranks * sizeof *unfinished);
        MPI_Barrier(comm);
        check_memory();
    }
    free(model);
    free(unfinished);
}

/* ---- what has to be ordered ---- */

/* A put, an accumulate and a flush, then a message: the receiver finds both in its memory. */
static void messages(void)
{
    int one = 1;
    MPI_Win_lock_all(0, win);
    for (int distance = 1; distance < ranks; distance++) {
        int partner = me ^ distance;
        int *count = &memory[partner * PART], begin = 0;
        for (int i = 1; partner < ranks && i <= MESSAGES; i++) {
            if ((partner > me) == (i % 2)) {
                MPI_Put(&i, 1, MPI_INT, partner, displacement(partner, 0), 1, MPI_INT, win);
                if (i % 8 < 2)
                    MPI_Accumulate(&one, 1, MPI_INT, partner, displacement(partner, 1), 1, MPI_INT,
                                   MPI_SUM, win);
                MPI_Win_flush(partner, win);
                MPI_Send(NULL, 0, MPI_INT, partner, 0, comm);
            } else {
                MPI_Recv(NULL, 0, MPI_INT, partner, 0, comm, MPI_STATUS_IGNORE);
                MPI_Win_sync(win);
                begin += i % 8 < 2;
                CHECK(count[0] == i && count[1] == begin, "from %d: %d and %d, not %d and %d",
                      partner, count[0], count[1], i, begin);
            }
        }
        MPI_Barrier(comm);
    }
    MPI_Win_unlock_all(win);
}

/* All ranks increment a counter of each rank: under the exclusive lock, a store before the unlock
 * is visible to the next rank that gets the lock, also to operations of the host. */
static void exclusive(void)
{
    MPI_Aint at = 0;
    memset(memory, 0, sizeof *memory);
    MPI_Barrier(comm);
    for (int turn = 0; turn < TURNS; turn++)
        for (int target = 0; target < ranks; target++) {
            int first, second;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
            if (turn % 2) /* nothing has shown yet that the lock is granted */
                MPI_Win_flush(target, win);
            MPI_Get(&first, 1, MPI_INT, target, at, 1, MPI_INT, win);
            MPI_Win_flush(target, win);
            MPI_Get(&second, 1, MPI_INT, target, at, 1, MPI_INT, win);
            MPI_Win_flush(target, win);
            CHECK(first == second, "%d, then %d under the lock of %d", first, second, target);
            second++;
            MPI_Put(&second, 1, MPI_INT, target, at, 1, MPI_INT, win);
            MPI_Win_unlock(target, win);
        }
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    CHECK(memory[0] == TURNS * ranks, "%d", memory[0]);
    MPI_Win_unlock(me, win);
    MPI_Barrier(comm);
}

/* A rank that polls the memory of another one drives the host's progress, which the other one needs
 * for an operation on this rank's memory. */
static void polling(void)
{
    int partner = me ^ 1, found = 0, one = 1, before;
    memory[partner * PART] = 0;
    MPI_Barrier(comm);
    MPI_Win_lock_all(0, win);
    if (me % 2 == 0 && partner < ranks) {
        while (found != 2) {
            MPI_Get(&found, 1, MPI_INT, partner, displacement(partner, 0), 1, MPI_INT, win);
            MPI_Win_flush(partner, win);
        }
    } else if (partner < ranks) {
        usleep(20000); /* the target is open for the other rank now */
        MPI_Fetch_and_op(&one, &before, MPI_INT, partner, displacement(partner, 1), MPI_SUM, win);
        MPI_Win_flush(partner, win);
        *(volatile int *)&memory[partner * PART] = 2;
        MPI_Win_sync(win);
    }
    MPI_Barrier(comm);
    MPI_Win_unlock_all(win);
}

/* An epoch that has ended admits nothing, although the target was open in it. */
static void errors(void)
{
    int value = 7;
    for (int target = 0; target < ranks; target++) {
        for (int i = 0; i < 4; i++) {
            MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
            for (int j = 0; j < 2; j++) {
                MPI_Put(&value, 1, MPI_INT, target, displacement(target, 2), 1, MPI_INT, win);
                MPI_Win_flush(target, win);
            }
            MPI_Win_unlock(target, win);
            CHECK_CLASS(
                MPI_Put(&value, 1, MPI_INT, target, displacement(target, 2), 1, MPI_INT, win),
                MPI_ERR_RMA_SYNC);
            CHECK_CLASS(MPI_Win_flush(target, win), MPI_ERR_RMA_SYNC);
        }
        MPI_Win_fence(0, win);
        MPI_Put(&value, 1, MPI_INT, target, displacement(target, 2), 1, MPI_INT, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
    MPI_Barrier(comm);
}

static void ordered(enum kind kind)
{
    open_window(MPI_COMM_WORLD, kind);
    messages();
    exclusive();
    polling();
    errors();
    close_window(kind);
}

/* Argument: `allocate`, for MPI_Win_allocate. */
int main(int argc, char **argv)
{
    MPI_Comm reversed;
    test_begin(&argc, &argv);
    enum kind kind = argc > 1 ? ALLOCATED : SHARED;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &reversed);
    for (int seed = 1; seed <= 4; seed++) {
        enum kind mine = kind == SHARED && seed == 3 && test_rank % 2 ? PRIVATE : kind;
        open_window(seed % 2 ? MPI_COMM_WORLD : reversed, mine);
        random_program(seed);
        close_window(mine);
    }
    ordered(kind);
    MPI_Type_free(&every_second);
    MPI_Comm_free(&reversed);
    return test_end();
}
