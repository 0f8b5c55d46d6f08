/* Random programs: all kinds of sends between all pairs of ranks on several communicators, received
 * at once or much later, by rank and with any tag, so that overtaking shows (H30: buffered sends).
 * Buffers change now and then, and come from malloc() or MPI_Alloc_mem.
 *
 *   bsend_fuzz FIRST COUNT   the seeds FIRST to FIRST + COUNT - 1
 *
 * All ranks draw the same random numbers, so each rank can compute what every other rank does: the
 * next message from a rank, its tag, length and contents. All ranks follow the drawn order, so
 * blocking sends cannot deadlock.
 */
#include "bsend.h"

enum { MESSAGES = 120, BUFFERS = 3, RANKS_MAX = 8, COMMS = 3, KINDS = 8 };
enum kind { BSEND, IBSEND, SEND, ISEND, SSEND, ISSEND, BSEND_AGAIN, PERSISTENT };

static const int sizes[] = {0, 8, 700, 5000, 14000, 40000, 100000};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 100000 };

struct drawn {
    int from, to, comm, bytes, kind;
    unsigned seed; /* seed of its contents */
    bool later;    /* received after everything else */
    bool received;
};

static struct drawn drawn[MESSAGES];
static MPI_Comm comms[COMMS];
static unsigned char *buffers[BUFFERS], *in;
static MPI_Request requests[MESSAGES];
static void *copies[MESSAGES];
static uint64_t state;

static unsigned chance(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static unsigned seed_of(int rank, int buffer, int version)
{
    return (unsigned)(rank * 1000003 + buffer * 1009 + version);
}

/* ---- memory ---- */

/* Some from MPI_Alloc_mem, some from malloc(). */
static void *take(int bytes, bool allocated)
{
    void *memory = NULL;
    if (!allocated)
        return malloc((size_t)bytes + 1);
    MPI_Alloc_mem(bytes + 1, MPI_INFO_NULL, &memory);
    return memory;
}

static void give_back(void *memory, bool allocated)
{
    if (memory && allocated)
        MPI_Free_mem(memory);
    else
        free(memory);
}

/* ---- sending ---- */

static void start_persistent(int i, const void *at, const struct drawn *d)
{
    MPI_Bsend_init(at, d->bytes, MPI_BYTE, d->to, i, comms[d->comm], &requests[i]);
    MPI_Start(&requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[i]);
}

static void send(int i, const void *at, const struct drawn *d)
{
    MPI_Comm comm = comms[d->comm];
    copies[i] = take(d->bytes, i % 2); /* the buffer may change while the message is under way */
    memcpy(copies[i], at, (size_t)d->bytes);
    switch (d->kind) {
    case IBSEND:
        MPI_Ibsend(at, d->bytes, MPI_BYTE, d->to, i, comm, &requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case SEND:
        MPI_Send(at, d->bytes, MPI_BYTE, d->to, i, comm);
        break;
    case ISEND:
        MPI_Isend(copies[i], d->bytes, MPI_BYTE, d->to, i, comm, &requests[i]);
        break;
    case SSEND:
        MPI_Ssend(at, d->bytes, MPI_BYTE, d->to, i, comm);
        break;
    case ISSEND:
        MPI_Issend(copies[i], d->bytes, MPI_BYTE, d->to, i, comm, &requests[i]);
        break;
    case PERSISTENT:
        start_persistent(i, at, d);
        break;
    default:
        MPI_Bsend(at, d->bytes, MPI_BYTE, d->to, i, comm);
    }
}

/* ---- receiving ---- */

/* The next message from that rank on that communicator is message i. */
static void receive(int i, unsigned way)
{
    struct drawn *d = &drawn[i];
    MPI_Comm comm = comms[d->comm];
    MPI_Status status;
    int bytes;
    if (way == 0) {
        MPI_Probe(d->from, MPI_ANY_TAG, comm, &status);
        CHECK(status.MPI_TAG == i, "probed %d for %d", status.MPI_TAG, i);
    } else if (way == 1) {
        MPI_Message message;
        MPI_Mprobe(d->from, MPI_ANY_TAG, comm, &message, &status);
        MPI_Mrecv(in, LARGEST, MPI_BYTE, &message, &status);
    }
    if (way != 1)
        MPI_Recv(in, LARGEST, MPI_BYTE, d->from, MPI_ANY_TAG, comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    CHECK(status.MPI_TAG == i && status.MPI_SOURCE == d->from, "received %d for %d", status.MPI_TAG,
          i);
    CHECK(bytes == d->bytes, "message %d: %d bytes for %d", i, bytes, d->bytes);
    CHECK(bytes != d->bytes || !wrong_bytes(in, bytes, d->seed), "message %d, kind %d", i, d->kind);
    d->received = true;
}

/* Receive all messages before message `end` from that rank on that communicator; from < 0: from
 * all. */
static void receive_before(int end, int from, int comm)
{
    for (int i = 0; i < end; i++)
        if (drawn[i].to == test_rank && !drawn[i].received &&
            (from < 0 || (drawn[i].from == from && drawn[i].comm == comm)))
            receive(i, (unsigned)i % 4);
}

/* ---- a program ---- */

static bool blocks(int kind)
{
    return kind == SEND || kind == SSEND;
}

static void draw(struct drawn *d, const struct drawn *last)
{
    *d = (struct drawn){.from = (int)chance((unsigned)test_size),
                        .to = (int)chance((unsigned)test_size),
                        .comm = (int)chance(COMMS),
                        .bytes = sizes[chance(SIZES)],
                        .kind = (int)chance(KINDS)};
    if (d->kind == BSEND_AGAIN && last) { /* by the same call as before */
        d->from = last->from;
        d->to = last->to;
        d->comm = last->comm;
        d->bytes = last->bytes;
    }
    if (d->from == d->to && blocks(d->kind))
        d->kind = BSEND;
    d->later = chance(3) == 0 && !blocks(d->kind);
}

static void play(unsigned seed)
{
    int versions[RANKS_MAX][BUFFERS] = {{0}}, buffer = 0;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int b = 0; b < BUFFERS; b++)
        fill(buffers[b], LARGEST, seed_of(test_rank, b, 0));
    for (int i = 0; i < MESSAGES; i++) {
        struct drawn *d = &drawn[i];
        requests[i] = MPI_REQUEST_NULL;
        copies[i] = NULL;
        draw(d, i ? d - 1 : NULL);
        unsigned other = chance(BUFFERS), change = chance(6);
        if (d->kind != BSEND_AGAIN)
            buffer = (int)other;
        if (!change && d->kind != BSEND_AGAIN) {
            int version = ++versions[d->from][buffer];
            if (d->from == test_rank)
                fill(buffers[buffer], LARGEST, seed_of(test_rank, buffer, version));
        }
        d->seed = seed_of(d->from, buffer, versions[d->from][buffer]);
        if (d->from == test_rank)
            send(i, buffers[buffer], d);
        if (d->to == test_rank && !d->later) {
            receive_before(i, d->from, d->comm);
            receive(i, (unsigned)i % 4);
        }
    }
    receive_before(MESSAGES, -1, 0);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MESSAGES; i++)
        give_back(copies[i], i % 2);
    if (seed % 4 == 0) {
        detach();
        attach(room_for(MESSAGES, LARGEST));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    unsigned first = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 100;
    for (int b = 0; b < BUFFERS; b++)
        buffers[b] = take(LARGEST, b % 2);
    in = take(LARGEST, test_rank % 2);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, test_rank, &comms[2]);
    attach(room_for(MESSAGES, LARGEST));
    for (unsigned seed = first; seed < first + count && !test_failures; seed++) {
        play(seed);
        if (test_failures)
            fprintf(stderr, "rank %d: seed %u\n", test_rank, seed);
    }
    detach();
    MPI_Comm_free(&comms[1]);
    MPI_Comm_free(&comms[2]);
    return test_end();
}
