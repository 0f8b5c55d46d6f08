/* Programs that use sessions (MPI-4) with or without MPI_Init: calls on their communicators and
 * windows are accelerated like those of the world model, with the right results, in every order of
 * initialisation (H31: life cycle). The first argument selects the program; `init`: call MPI_Init
 * too. */
#include "test.h"

/* Open MPI 5 has sessions, but not all of MPI-4. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#include <pthread.h>

enum { TIMES = 20, WORDS = 8192 };

static MPI_Session open_session(void)
{
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

static MPI_Comm from_group(MPI_Group group, const char *tag)
{
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    return comm;
}

static MPI_Comm from_set(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm comm = from_group(group, set);
    MPI_Group_free(&group);
    return comm;
}

static MPI_Comm world_of(MPI_Session session)
{
    MPI_Comm comm = from_set(session, "mpi://WORLD");
    MPI_Comm_rank(comm, &test_rank);
    MPI_Comm_size(comm, &test_size);
    return comm;
}

/* The communicator of `count` ranks from `first` on; MPI_COMM_NULL on the others. */
static MPI_Comm part_of(MPI_Session session, int first, int count)
{
    MPI_Group all, part;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_range_incl(all, 1, (int[1][3]){{first, first + count - 1, 1}}, &part);
    MPI_Group_rank(part, &rank);
    if (rank != MPI_UNDEFINED)
        comm = from_group(part, "part");
    MPI_Group_free(&part);
    MPI_Group_free(&all);
    return comm;
}

static void add_up(MPI_Comm comm, long *in, long *out)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < WORDS; i++)
            in[i] = rank + i + t;
        MPI_Allreduce(in, out, WORDS, MPI_LONG, MPI_SUM, comm);
        for (int i = 0; i < WORDS; i++)
            CHECK(out[i] == size * (long)(i + t) + size * (size - 1) / 2, "time %d, word %d: %ld",
                  t, i, out[i]);
    }
}

static long *allocate(void)
{
    void *memory;
    CHECK_CLASS(MPI_Alloc_mem(WORDS * sizeof(long), MPI_INFO_NULL, &memory), MPI_SUCCESS);
    return memory;
}

static void use(MPI_Comm comm)
{
    static long in[WORDS], out[WORDS];
    add_up(comm, in, out);
}

static void use_and_free(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL)
        return;
    use(comm);
    MPI_Comm_free(&comm);
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((long *)inout)[i] += ((long *)in)[i];
}

/* An operation of the program, and one that only hosts define. */
static void use_other_operations(MPI_Comm comm)
{
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    for (int t = 0; t < TIMES; t++) {
        long in = test_rank + t, out = 0;
        char bit = (char)(1 << test_rank), bits = 0;
        MPI_Allreduce(&in, &out, 1, MPI_LONG, op, comm);
        CHECK(out == t * test_size + test_size * (test_size - 1) / 2, "time %d: %ld", t, out);
        MPI_Allreduce(&bit, &bits, 1, MPI_CHAR, MPI_SUM, comm);
        CHECK(bits == (1 << test_size) - 1, "time %d: %d", t, bits);
    }
    MPI_Op_free(&op);
}

/* ---- programs ---- */

static void collectives(void)
{
    MPI_Session session = open_session();
    long *in = allocate(), *out = allocate();
    MPI_Comm comm = world_of(session);
    add_up(comm, in, out);
    MPI_Free_mem(in);
    in = allocate();
    add_up(comm, in, out);
    use_other_operations(comm);
    MPI_Free_mem(in);
    MPI_Free_mem(out);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* All memory is allocated before there is a communicator, and some of it freed. */
static void early_memory(void)
{
    enum { BLOCKS = 200 };
    char *block[BLOCKS];
    MPI_Session session = open_session();
    for (int i = 0; i < BLOCKS; i++) {
        MPI_Alloc_mem(i * 1000, MPI_INFO_NULL, &block[i]);
        memset(block[i], i, (size_t)i * 1000);
        CHECK((uintptr_t)block[i] % 16 == 0, "%p", (void *)block[i]);
        if (i % 3 == 2)
            CHECK_CLASS(MPI_Free_mem(block[i - 1]), MPI_SUCCESS);
    }
    use_and_free(world_of(session));
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 3 == 1 && i + 1 < BLOCKS)
            continue;
        for (int k = 0; k < i * 1000; k++)
            CHECK(block[i][k] == (char)i, "block %d, byte %d: %d", i, k, block[i][k]);
        CHECK_CLASS(MPI_Free_mem(block[i]), MPI_SUCCESS);
    }
    MPI_Session_finalize(&session);
}

/* Make communicators of some ranks before the one of all ranks, or only after it. One of them is
 * first used at the end. */
static void parts(bool first)
{
    MPI_Session session = open_session();
    MPI_Comm world = first ? MPI_COMM_NULL : world_of(session);
    MPI_Comm part = part_of(session, 0, 2), unused = part_of(session, 0, 2), twin;
    if (part != MPI_COMM_NULL)
        use(part);
    if (first)
        world = world_of(session);
    use(world);
    MPI_Comm_dup(world, &twin);
    use_and_free(twin);
    use_and_free(world);
    use_and_free(part);
    use_and_free(unused);
    use_and_free(world_of(session));
    MPI_Session_finalize(&session);
}

/* The first half of the ranks and the others, whose leaders are the last of each. */
static MPI_Comm halves_of(MPI_Session session)
{
    MPI_Group all, half[2];
    MPI_Comm comm;
    int size, rank;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_size(all, &size);
    MPI_Group_rank(all, &rank);
    int middle = size / 2, mine = rank >= middle;
    MPI_Group_range_incl(all, 1, (int[1][3]){{0, middle - 1, 1}}, &half[0]);
    MPI_Group_range_incl(all, 1, (int[1][3]){{middle, size - 1, 1}}, &half[1]);
    const int leader[2] = {middle - 1, size - middle - 1};
    MPI_Intercomm_create_from_groups(half[mine], leader[mine], half[!mine], leader[!mine], "halves",
                                     MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&half[0]);
    MPI_Group_free(&half[1]);
    MPI_Group_free(&all);
    return comm;
}

/* Each rank receives the sum of the other group. */
static void use_halves(MPI_Comm comm)
{
    int rank, size, others;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_remote_size(comm, &others);
    long sum;
    for (long t = 0; t < TIMES; t++) {
        long mine = size * 1000 + rank + t;
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
        CHECK(sum == others * (others * 1000 + t) + others * (others - 1) / 2, "time %ld: %ld", t,
              sum);
    }
}

static void intercommunicator(bool first)
{
    MPI_Session session = open_session();
    MPI_Comm world = first ? MPI_COMM_NULL : world_of(session);
    MPI_Comm halves = halves_of(session);
    use_halves(halves);
    if (first)
        world = world_of(session);
    use(world);
    use_halves(halves);
    MPI_Comm_free(&halves);
    use_and_free(world);
    MPI_Session_finalize(&session);
}

static void two_sessions(void)
{
    MPI_Session a = open_session(), b = open_session();
    MPI_Comm of_b = world_of(b);
    use(of_b);
    use_and_free(world_of(a));
    MPI_Session_finalize(&a);
    use(of_b);
    a = open_session();
    use_and_free(world_of(a));
    MPI_Session_finalize(&a);
    use_and_free(of_b);
    MPI_Session_finalize(&b);
}

static MPI_Datatype committed(int longs)
{
    MPI_Datatype type;
    MPI_Type_contiguous(longs, MPI_LONG, &type);
    MPI_Type_commit(&type);
    return type;
}

static int deleted;
static bool world_is_open;

/* While MPI_COMM_WORLD exists, it makes a collective call with a new datatype. */
static int delete (MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    if (world_is_open) {
        long data[3] = {0, 0, test_rank ? 0 : 7};
        MPI_Datatype type = committed(3);
        MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
        CHECK(data[2] == 7, "%ld", data[2]);
        MPI_Type_free(&type);
    }
    deleted++;
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attribute, unless a session of the program is still open. */
static void with_init(bool session_first, bool finalize_first)
{
    MPI_Session session;
    int key;
    if (session_first)
        session = open_session();
    MPI_Init(NULL, NULL);
    if (!session_first)
        session = open_session();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm comm = world_of(session);
    use(MPI_COMM_WORLD);
    use(comm);
    if (finalize_first) {
        MPI_Finalize();
        use_and_free(comm);
        use_and_free(world_of(session));
        MPI_Session_finalize(&session);
    } else {
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
        use(MPI_COMM_WORLD);
        world_is_open = true;
        MPI_Finalize();
        CHECK(deleted == 1, "%d", deleted);
    }
}

/* MPI_Finalize of the world model comes between calls on a session's communicator, at a
 * different place on each rank. */
static void finalize_between(void)
{
    MPI_Init(NULL, NULL);
    MPI_Session session = open_session();
    MPI_Comm comm = world_of(session), twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int call = 0; call < TIMES; call++) {
        int data = test_rank ? -1 : call, world = data;
        if (call < 2) {
            MPI_Bcast(&world, 1, MPI_INT, 0, MPI_COMM_WORLD);
            MPI_Bcast(&world, 1, MPI_INT, 0, twin);
        }
        if (call == (test_rank ? 2 : 3))
            MPI_Finalize();
        MPI_Bcast(&data, 1, MPI_INT, 0, comm);
        CHECK(data == call, "call %d: %d", call, data);
        if (call == 3) /* the team is set up in a call that synchronises, or after very many */
            MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* MPICH 5.0 returns the same handle when it has been initialized again, although it has freed the
 * datatype: asking it about the handle crashes. */
static void use_real(MPI_Comm comm, MPI_Datatype *real)
{
    double value;
    MPI_Type_create_f90_real(15, 307, real);
    for (int t = 0; t < TIMES; t++) {
        value = test_rank ? 0 : t;
        MPI_Bcast(&value, 1, *real, 0, comm);
        CHECK(value == t, "time %d: %g", t, value);
    }
}

/* The host is finalized and initialized again, with objects left behind. */
static void cycles(void)
{
    for (int cycle = 0; cycle < 4; cycle++) {
        MPI_Session session = open_session();
        long *in = allocate(), *out = allocate();
        MPI_Comm comm = world_of(session);
        MPI_Datatype longs, real;
        if (cycle % 2)
            longs = committed(1 + cycle);
        use_real(comm, &real);
        if (cycle % 2 == 0)
            longs = committed(1 + cycle);
        add_up(comm, in, out);
        for (int i = 0; i <= cycle; i++)
            in[i] = i + 1;
        for (int t = 0; t < TIMES; t++) {
            memset(out, 0, 16 * sizeof *out);
            if (!test_rank)
                memcpy(out, in, 16 * sizeof *out);
            MPI_Bcast(out, 1, longs, 0, comm);
            for (int i = 0; i <= cycle; i++)
                CHECK(out[i] == i + 1, "cycle %d, word %d: %ld", cycle, i, out[i]);
        }
        if (cycle % 2)
            MPI_Type_free(&longs);
        MPI_Comm_free(&comm);
        MPI_Free_mem(in);
        MPI_Free_mem(out);
        MPI_Session_finalize(&session);
    }
}

/* MPI_Init after a finished session: rank 0 waits in MPI_Win_fence, and must make the host's
 * progress meanwhile, or rank 1 would not receive its long message. */
static void init_after_session(void)
{
    enum { BYTES = 6 << 20 };
    char *message = calloc(1, BYTES);
    MPI_Session session = open_session();
    MPI_Request request;
    MPI_Win win;
    use_and_free(world_of(session));
    MPI_Session_finalize(&session);
    MPI_Init(NULL, NULL);
    long *memory = allocate();
    MPI_Win_create(memory, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (test_rank == 0)
        MPI_Isend(message, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    else
        MPI_Recv(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    if (test_rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(message);
    MPI_Finalize();
}

/* A persistent send that was created before MPI_Finalize is started after it. */
static void persistent_send(void)
{
    static char buffer[1 << 16];
    static long data[WORDS / 4], received[WORDS / 4];
    void *detached;
    int size;
    MPI_Init(NULL, NULL);
    MPI_Session session = open_session();
    MPI_Comm comm = world_of(session);
    MPI_Request request;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend_init(data, WORDS / 4, MPI_LONG, test_next(), 0, comm, &request);
    for (int t = 0; t < TIMES; t++) {
        if (t == TIMES / 2)
            MPI_Finalize();
        data[WORDS / 4 - 1] = t;
        MPI_Start(&request);
        MPI_Recv(received, WORDS / 4, MPI_LONG, test_previous(), 0, comm, MPI_STATUS_IGNORE);
        CHECK(received[WORDS / 4 - 1] == t, "time %d: %ld", t, received[WORDS / 4 - 1]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Buffer_detach(&detached, &size);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/* No rank makes a communicator of all ranks. */
static void alone(void)
{
    MPI_Session session = open_session();
    for (int i = 0; i < 1000; i++) {
        long *memory = allocate();
        memory[WORDS - 1] = i;
        MPI_Free_mem(memory);
    }
    use_and_free(from_set(session, "mpi://SELF"));
    MPI_Session_finalize(&session);
}

/* Rank 0 alone sends buffered messages, with a predefined and a derived datatype, before there is a
 * communicator of all ranks. Later it still takes part in collective calls as the other ranks do.
 */
static void send_buffered_early(void)
{
    enum { ROOM = 4096 };
    static char buffer[ROOM];
    void *detached;
    int size;
    long value = 7;
    MPI_Session session = open_session();
    MPI_Comm self = from_set(session, "mpi://SELF");
    MPI_Datatype one = committed(1);
    int rank;
    MPI_Group all;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    MPI_Group_free(&all);
    MPI_Buffer_attach(buffer, ROOM);
    for (int derived = 0; !rank && derived < 2; derived++) {
        MPI_Bsend(&value, 1, derived ? one : MPI_LONG, 0, 7, self);
        MPI_Recv(&value, 1, MPI_LONG, 0, 7, self, MPI_STATUS_IGNORE);
    }
    MPI_Comm comm = world_of(session);
    use(comm);
    for (int t = 0; t < TIMES; t++) {
        long sum, data = test_rank ? 0 : t;
        MPI_Allreduce(&value, &sum, 1, MPI_LONG, MPI_SUM, comm);
        MPI_Bcast(&data, 1, one, 0, comm);
        CHECK(sum == 7 * test_size && data == t, "time %d: %ld %ld", t, sum, data);
    }
    MPI_Buffer_detach(&detached, &size);
    MPI_Type_free(&one);
    MPI_Comm_free(&self);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

static void send_buffered(void)
{
    enum { ROOM = 1 << 20 };
    static char buffer[ROOM];
    static long data[WORDS];
    void *detached;
    int size;
    MPI_Session session = open_session();
    MPI_Comm comm = world_of(session);
    MPI_Buffer_attach(buffer, ROOM);
    for (int t = 0; t < TIMES; t++) {
        data[0] = t, data[WORDS - 1] = test_rank;
        MPI_Bsend(data, WORDS, MPI_LONG, test_next(), 7, comm);
        MPI_Recv(data, WORDS, MPI_LONG, test_previous(), 7, comm, MPI_STATUS_IGNORE);
        CHECK(data[0] == t && data[WORDS - 1] == test_previous(), "%ld %ld", data[0],
              data[WORDS - 1]);
    }
    MPI_Buffer_detach(&detached, &size);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

static void put_to_next(MPI_Win win, const long *memory)
{
    long value = 100 + test_rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 3, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(memory[3] == 100 + test_previous(), "%ld", memory[3]);
}

static void windows(bool init, bool shared)
{
    long *memory;
    MPI_Aint at, remote;
    MPI_Win win;
    MPI_Session session = open_session();
    long *early = allocate();
    if (init)
        MPI_Init(NULL, NULL);
    MPI_Comm comm = world_of(session);
    MPI_Win_create(early, WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &win);
    put_to_next(win, early);
    MPI_Win_free(&win);
    MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &win);
    put_to_next(win, memory);
    MPI_Win_free(&win);
    if (shared) {
        MPI_Win_allocate_shared(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory,
                                &win);
        put_to_next(win, memory);
        MPI_Win_free(&win);
    }
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    MPI_Win_attach(win, early, WORDS * sizeof(long));
    MPI_Get_address(early, &at);
    MPI_Sendrecv(&at, 1, MPI_AINT, test_previous(), 0, &remote, 1, MPI_AINT, test_next(), 0, comm,
                 MPI_STATUS_IGNORE);
    long value = 200 + test_rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), remote, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(early[0] == 200 + test_previous(), "%ld", early[0]);
    MPI_Win_detach(win, early);
    MPI_Win_free(&win);
    MPI_Free_mem(early);
    MPI_Comm_free(&comm);
    if (init)
        MPI_Finalize();
    MPI_Session_finalize(&session);
}

/* Two threads: one makes and uses communicators of two ranks while the other makes and uses one of
 * all ranks. */
static void *use_pair(void *session)
{
    static long in[WORDS], out[WORDS];
    MPI_Group all;
    int rank;
    MPI_Group_from_session_pset(*(MPI_Session *)session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    MPI_Group_free(&all);
    MPI_Comm pair = part_of(*(MPI_Session *)session, rank / 2 * 2, 2);
    for (int i = 0; i < 3; i++)
        add_up(pair, in, out);
    MPI_Comm_free(&pair);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    MPI_Info info;
    MPI_Session session;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    pthread_create(&thread, NULL, use_pair, &session);
    MPI_Comm comm = world_of(session);
    for (int i = 0; i < 3; i++)
        use(comm);
    pthread_join(thread, NULL);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *program = argc > 1 ? argv[1] : "collectives";
    if (!strcmp(program, "collectives"))
        collectives();
    else if (!strcmp(program, "memory"))
        early_memory();
    else if (!strcmp(program, "part_first"))
        parts(true);
    else if (!strcmp(program, "part_later"))
        parts(false);
    else if (!strcmp(program, "halves_first"))
        intercommunicator(true);
    else if (!strcmp(program, "halves_later"))
        intercommunicator(false);
    else if (!strcmp(program, "two"))
        two_sessions();
    else if (!strcmp(program, "init"))
        with_init(argc > 2, argc > 3);
    else if (!strcmp(program, "cycles"))
        cycles();
    else if (!strcmp(program, "init_after"))
        init_after_session();
    else if (!strcmp(program, "persistent"))
        persistent_send();
    else if (!strcmp(program, "alone"))
        alone();
    else if (!strcmp(program, "bsend"))
        send_buffered();
    else if (!strcmp(program, "bsend_early"))
        send_buffered_early();
    else if (!strcmp(program, "windows"))
        windows(argc > 2, argc > 3);
    else if (!strcmp(program, "threads"))
        threads();
    else if (!strcmp(program, "finalize_between"))
        finalize_between();
    else if (!strcmp(program, "finalize_first"))
        with_init(false, true);
    else
        return 2;
    return test_failures ? 1 : 0;
}
#else
int main(void)
{
    return 77; /* only for hosts that have them */
}
#endif
