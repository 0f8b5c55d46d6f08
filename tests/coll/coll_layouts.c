/* Derived datatypes: each rank uses a datatype of a different constructor, with the same signature.
 * Bytes in holes are not touched. */
#include "coll.h"
#include "layouts.h"

static MPI_Comm comm;
static struct layouts all;
enum { COPIES = 3, BYTES = ELEMENTS * (int)sizeof(int) };

struct room {
    char *room, *at;
};

/* Memory for one layout per rank, LAYOUT_ROOM bytes each. */
static struct room room_make(int blocks, bool allocated)
{
    struct room p;
    size_t bytes = (size_t)blocks * LAYOUT_ROOM;
    p.room = allocated ? window_memory(bytes) : malloc(bytes);
    memset(p.room, COLL_MARK, bytes);
    p.at = p.room + LAYOUT_AT;
    return p;
}

static void room_free(struct room *p, bool allocated)
{
    if (allocated)
        MPI_Free_mem(p->room);
    else
        free(p->room);
}

/* The elements of the block at `at`, through MPI_Pack and MPI_Unpack. */
static void put(const struct layout *l, char *at, int from, int to)
{
    char packed[BYTES];
    int position = 0;
    coll_fill(packed, BYTES, from, to);
    MPI_Unpack(packed, BYTES, &position, at, l->count, l->type, MPI_COMM_SELF);
}

static void expect(const struct layout *l, const char *what, char *at, int from, int to)
{
    char packed[BYTES + 64], text[200];
    int position = 0;
    MPI_Pack(at, l->count, l->type, packed, sizeof packed, &position, MPI_COMM_SELF);
    CHECK(position == BYTES, "%s: %d bytes", l->name, position);
    snprintf(text, sizeof text, "%s, %s", what, l->name);
    coll_expect(text, packed, BYTES, from, to);
}

/* The number of bytes that are not COLL_MARK: those of the elements. */
static void expect_holes(const struct layout *l, const char *what, const struct room *p)
{
    int written = 0;
    for (int i = 0; i < LAYOUT_ROOM; i++)
        written += p->room[i] != COLL_MARK;
    CHECK(written <= BYTES, "%s, %s: %d bytes were written", what, l->name, written);
}

static const struct layout *layout_of(int rank, int i)
{
    return &all.list[(i + rank * 11) % all.count];
}

static void bcast(int i, int root, bool allocated)
{
    const struct layout *l = layout_of(test_rank, i);
    struct room p = room_make(1, allocated);
    coll_turn++;
    if (test_rank == root)
        put(l, p.at, root, 0);
    MPI_Bcast(p.at, l->count, l->type, root, comm);
    expect(l, "bcast", p.at, root, 0);
    expect_holes(l, "bcast", &p);
    room_free(&p, allocated);
}

/* Several consecutive elements need an extent that holds one. */
static bool repeats(const struct layout *l)
{
    MPI_Aint low, extent, true_low, true_extent;
    MPI_Type_get_extent(l->type, &low, &extent);
    MPI_Type_get_true_extent(l->type, &true_low, &true_extent);
    return low == 0 && true_low >= 0 && extent >= true_low + true_extent &&
           extent * l->count * test_size < LAYOUT_ROOM;
}

static void gather(int i, int root, bool allocated)
{
    const struct layout *out = layout_of(test_rank, i), *in = layout_of(root, i + 5);
    MPI_Aint low, extent;
    struct room p = room_make(1, allocated), q = {0};
    coll_turn++;
    put(out, p.at, test_rank, root);
    if (!repeats(in))
        in = &all.list[0];
    MPI_Type_get_extent(in->type, &low, &extent);
    if (test_rank == root)
        q = room_make(2, !allocated);
    MPI_Gather(p.at, out->count, out->type, q.at, in->count, in->type, root, comm);
    for (int r = 0; q.at && r < test_size; r++)
        expect(in, "gather", q.at + r * in->count * extent, r, root);
    /* and back, from the current buffers */
    coll_turn++;
    for (int r = 0; q.at && r < test_size; r++)
        put(in, q.at + r * in->count * extent, root, r);
    MPI_Scatter(q.at, in->count, in->type, p.at, out->count, out->type, root, comm);
    expect(out, "scatter", p.at, root, test_rank);
    expect_holes(out, "scatter", &p);
    room_free(&p, allocated);
    if (q.at)
        room_free(&q, !allocated);
}

static void alltoallw(int i, bool allocated)
{
    struct room p = room_make(test_size, allocated), q = room_make(test_size, !allocated);
    int out_counts[16], in_counts[16], at[16];
    MPI_Datatype out_types[16], in_types[16];
    coll_turn++;
    for (int r = 0; r < test_size; r++) {
        const struct layout *out = layout_of(r + test_rank, i), *in = layout_of(r, i + 3);
        out_counts[r] = out->count, out_types[r] = out->type;
        in_counts[r] = in->count, in_types[r] = in->type;
        at[r] = r * LAYOUT_ROOM;
        put(out, p.at + at[r], test_rank, r);
    }
    MPI_Alltoallw(p.at, out_counts, at, out_types, q.at, in_counts, at, in_types, comm);
    for (int r = 0; r < test_size; r++)
        expect(layout_of(r, i + 3), "alltoallw", q.at + at[r], r, test_rank);
    room_free(&p, allocated);
    room_free(&q, !allocated);
}

static void allgather(int i, bool allocated)
{
    const struct layout *out = layout_of(test_rank, i), *in = layout_of(test_rank, i + 7);
    MPI_Aint low, extent;
    struct room p = room_make(1, allocated), q = room_make(2, !allocated);
    coll_turn++;
    put(out, p.at, test_rank, 0);
    if (!repeats(in))
        in = &all.list[1];
    MPI_Type_get_extent(in->type, &low, &extent);
    MPI_Allgather(p.at, out->count, out->type, q.at, in->count, in->type, comm);
    for (int r = 0; r < test_size; r++)
        expect(in, "allgather", q.at + r * in->count * extent, r, 0);
    room_free(&p, allocated);
    room_free(&q, !allocated);
}

enum { WIDTH = 3 };

/* Ints that are contiguous on one rank and every WIDTH-th on another: too many for one pipelined
 * piece. */
struct ints {
    struct buffer buffer;
    int *at, count, stride;
};

static struct ints ints_make(int count, bool strided)
{
    struct ints v = {.count = count, .stride = strided ? WIDTH : 1};
    v.buffer = buffer_make((size_t)(count * v.stride) * sizeof(int));
    v.at = (int *)v.buffer.data;
    return v;
}

static void ints_set(struct ints *v, int first, int n, int from, int to)
{
    for (int i = 0; i < n; i++)
        v->at[(first + i) * v->stride] = from * 1000000 + to * 100000 + i + (int)coll_turn;
}

static void ints_expect(struct ints *v, int first, int n, int from, int to, const char *what)
{
    for (int i = 0; i < n; i++) {
        int got = v->at[(first + i) * v->stride];
        int expected = from * 1000000 + to * 100000 + i + (int)coll_turn;
        if (got != expected) {
            CHECK(got == expected, "%s: %d of %d, stride %d: %d", what, i, n, v->stride, got);
            return;
        }
    }
}

static void ints_free(struct ints *v, const char *what)
{
    bool kept = true;
    for (int i = 0; i < v->count && v->stride > 1; i++)
        kept &= coll_untouched((char *)&v->at[i * WIDTH + 1], (char *)&v->at[(i + 1) * WIDTH]);
    CHECK(kept, "%s: between the elements", what);
    buffer_free(&v->buffer);
}

static void large(int n, int root, MPI_Datatype every)
{
    bool strided = (test_rank + root) % 2;
    int me = test_rank;
    MPI_Datatype out_type = strided ? every : MPI_INT, in_type = strided ? MPI_INT : every;
    struct ints one = ints_make(n, strided), whole = ints_make(n * test_size, !strided);
    coll_turn++;
    if (me == root)
        ints_set(&one, 0, n, root, 0);
    MPI_Bcast(one.at, n, out_type, root, comm);
    ints_expect(&one, 0, n, root, 0, "bcast");
    ints_set(&one, 0, n, me, 1);
    MPI_Gather(one.at, n, out_type, whole.at, n, in_type, root, comm);
    for (int r = 0; r < test_size && me == root; r++)
        ints_expect(&whole, r * n, n, r, 1, "gather");
    MPI_Allgather(one.at, n, out_type, whole.at, n, in_type, comm);
    for (int r = 0; r < test_size; r++)
        ints_expect(&whole, r * n, n, r, 1, "allgather");
    for (int r = 0; r < test_size; r++)
        ints_set(&whole, r * n, n, me, r);
    MPI_Scatter(whole.at, n, in_type, one.at, n, out_type, root, comm);
    ints_expect(&one, 0, n, root, me, "scatter");
    struct ints others = ints_make(n * test_size, strided);
    MPI_Alltoall(whole.at, n, in_type, others.at, n, out_type, comm);
    for (int r = 0; r < test_size; r++)
        ints_expect(&others, r * n, n, r, me, "alltoall");
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, whole.at, n, in_type, comm);
    for (int r = 0; r < test_size; r++)
        ints_expect(&whole, r * n, n, r, me, "alltoall in place");
    ints_free(&one, "one");
    ints_free(&whole, "whole");
    ints_free(&others, "others");
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    layouts_make(&all, MPI_INT);
    for (int i = 0; i < all.count; i++) {
        for (int root = 0; root < test_size; root++) {
            bcast(i, root, i % 2);
            gather(i, root, (i + test_rank) % 2);
        }
        alltoallw(i, (i + test_rank) % 2);
        allgather(i, i % 3);
    }
    MPI_Datatype every;
    MPI_Type_create_resized(MPI_INT, 0, WIDTH * sizeof(int), &every);
    MPI_Type_commit(&every);
    for (int root = 0; root < test_size; root++)
        for (int turn = 0; turn < 2; turn++) { /* other buffers are in other memory */
            large(700, root, every);
            large(3000, root, every);
            large(50000, root, every);
        }
    MPI_Type_free(&every);
    layouts_free(&all);
    return test_end();
}
