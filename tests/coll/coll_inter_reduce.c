/* Reductions on intercommunicators: each group gets the operands of the remote group, in rank
 * order, at one root or at all ranks; with MPI's operations and a noncommutative user-defined one,
 * on elements with and without gaps.
 *
 *   coll_inter_reduce [malloc | alloc]   where buffers come from
 */
#include "inter.h"

static const int counts[] = {0, 1, 5, 500, 1024, 1030, 6000, 40000};
enum { COUNTS = sizeof counts / sizeof *counts };

static struct inter x;

/* ---- elements ---- */

/* x -> a x + b under composition, which is not commutative. */
struct affine {
    unsigned a, b;
};

/* The coefficients of x -> a x + b with a gap between them. */
struct spaced {
    unsigned a, gap, b;
};

static struct affine compose(struct affine f, struct affine g)
{
    return (struct affine){f.a * g.a, f.a * g.b + f.b};
}

static struct affine value_of(int id, int i)
{
    return (struct affine){2 * (unsigned)(id + i % 7 + (int)coll_turn) + 1, (unsigned)(id * 3 + i)};
}

static void compose_close(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct affine *f = in, *g = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        g[i] = compose(f[i], g[i]);
}

static void compose_spaced(void *in, void *inout, int *n, MPI_Datatype *type)
{
    struct spaced *f = in, *g = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        struct affine c = compose((struct affine){f[i].a, f[i].b}, (struct affine){g[i].a, g[i].b});
        g[i].a = c.a;
        g[i].b = c.b;
    }
}

struct pair {
    double value;
    int index;
};

enum kind { SUM, MINLOC, CLOSE, SPACED, KINDS };
static const char *const names[] = {"sum", "minloc", "user", "user, spaced"};
static MPI_Datatype types[KINDS];
static MPI_Op ops[KINDS];
static const size_t extents[] = {sizeof(int), sizeof(struct pair), sizeof(struct affine),
                                 sizeof(struct spaced)};

static struct pair pair_of(int id, int i)
{
    return (struct pair){(double)((i * 7 + id * 5 + (int)coll_turn) % 11), id + i % 3};
}

/* Store one element, in the layout of its kind. */
static void store(enum kind kind, char *at, struct affine f, struct pair p)
{
    if (kind == SUM) {
        memcpy(at, &f.b, sizeof f.b);
    } else if (kind == MINLOC) {
        memcpy(at, &p.value, sizeof p.value);
        memcpy(at + sizeof p.value, &p.index, sizeof p.index);
    } else {
        memcpy(at, &f.a, sizeof f.a);
        memcpy(at + (kind == SPACED ? 8 : 4), &f.b, sizeof f.b);
    }
}

/* Write the elements of `id`, starting at `first`. */
static void fill(enum kind kind, char *at, int n, int id, int first)
{
    for (int i = 0; i < n; i++, at += extents[kind])
        store(kind, at, value_of(id, first + i), pair_of(id, first + i));
}

/* One element of the remote group's result. */
static void result_of(enum kind kind, char *at, int i)
{
    struct affine f = value_of(inter_other(&x, 0), i), next;
    struct pair p = pair_of(inter_other(&x, 0), i);
    for (int r = 1; r < x.others; r++) {
        struct pair q = pair_of(inter_other(&x, r), i);
        next = value_of(inter_other(&x, r), i);
        if (q.value < p.value || (!(p.value < q.value) && q.index < p.index))
            p = q;
        f = kind == SUM ? (struct affine){0, f.b + next.b} : compose(f, next);
    }
    store(kind, at, f, p);
}

static void expect(const char *what, enum kind kind, const struct buffer *b, int n, int first)
{
    char *wanted = malloc(extents[kind]);
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const char *at = b->data + (size_t)i * extents[kind];
        memset(wanted, COLL_MARK, extents[kind]);
        result_of(kind, wanted, first + i);
        if (kind == MINLOC) /* its padding is undefined */
            wrong += memcmp(at, wanted, sizeof(double) + sizeof(int)) != 0;
        else
            wrong += memcmp(at, wanted, extents[kind]) != 0;
    }
    CHECK(!wrong, "%s, %s: %d of %d, turn %u", what, names[kind], wrong, n, coll_turn);
    free(wanted);
}

static struct buffer elements(enum kind kind, int n)
{
    return buffer_make((size_t)n * extents[kind]);
}

/* ---- calls ---- */

static void reduce(enum kind kind, int n, int side, int rank)
{
    int root = inter_root(&x, side, rank);
    struct buffer from = elements(kind, n), to = elements(kind, n);
    fill(kind, from.data, n, inter_mine(&x), 0);
    MPI_Reduce(from.data, to.data, n, types[kind], ops[kind], root, x.comm);
    if (root == MPI_ROOT)
        expect("reduce", kind, &to, n, 0);
    else
        CHECK(coll_untouched(to.data, to.data + to.bytes), "reduce wrote");
    buffer_free(&from);
    buffer_free(&to);
}

static void allreduce(enum kind kind, int n)
{
    struct buffer from = elements(kind, n), to = elements(kind, n);
    fill(kind, from.data, n, inter_mine(&x), 0);
    MPI_Allreduce(from.data, to.data, n, types[kind], ops[kind], x.comm);
    expect("allreduce", kind, &to, n, 0);
    buffer_free(&from);
    buffer_free(&to);
}

static void reduce_scatter_block(enum kind kind, int n)
{
    int share = n * x.others; /* as many elements in total for both groups */
    struct buffer from = elements(kind, share * x.size), to = elements(kind, share);
    fill(kind, from.data, share * x.size, inter_mine(&x), 0);
    MPI_Reduce_scatter_block(from.data, to.data, share, types[kind], ops[kind], x.comm);
    expect("reduce_scatter_block", kind, &to, share, share * x.me);
    buffer_free(&from);
    buffer_free(&to);
}

/* The last rank of a group gets most elements, other ranks possibly none. */
static void reduce_scatter(enum kind kind, int n)
{
    int shares[64], first = 0, left = n * test_size;
    for (int r = 0; r < x.size; r++) {
        shares[r] = r + 1 < x.size ? r * n / 2 : left;
        left -= shares[r];
        first += r < x.me ? shares[r] : 0;
    }
    struct buffer from = elements(kind, n * test_size), to = elements(kind, shares[x.me]);
    fill(kind, from.data, n * test_size, inter_mine(&x), 0);
    MPI_Reduce_scatter(from.data, to.data, shares, types[kind], ops[kind], x.comm);
    expect("reduce_scatter", kind, &to, shares[x.me], first);
    buffer_free(&from);
    buffer_free(&to);
}

static void make_kinds(void)
{
    types[SUM] = MPI_INT;
    ops[SUM] = MPI_SUM;
    types[MINLOC] = MPI_DOUBLE_INT;
    ops[MINLOC] = MPI_MINLOC;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &types[CLOSE]);
    MPI_Type_vector(2, 1, 2, MPI_UNSIGNED, &types[SPACED]);
    MPI_Type_commit(&types[CLOSE]);
    MPI_Type_commit(&types[SPACED]);
    MPI_Op_create(compose_close, false, &ops[CLOSE]);
    MPI_Op_create(compose_spaced, false, &ops[SPACED]);
}

static void free_kinds(void)
{
    for (int kind = CLOSE; kind < KINDS; kind++) {
        MPI_Type_free(&types[kind]);
        MPI_Op_free(&ops[kind]);
    }
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    make_kinds();
    for (int many = 1; many < test_size; many++) {
        x = inter_make(many - 1, many);
        coll_warm(x.comm);
        for (int i = 0; i < COUNTS * KINDS; i++) {
            enum kind kind = (enum kind)(i % KINDS);
            int n = counts[i / KINDS];
            coll_turn++;
            for (int side = 0; side < 2; side++)
                for (int root = 0; root < (side == x.side ? x.size : x.others); root++)
                    reduce(kind, n, side, root);
            allreduce(kind, n);
            reduce_scatter_block(kind, n / 2);
            reduce_scatter(kind, n / 2);
        }
        inter_free(&x);
    }
    free_kinds();
    return test_end();
}
