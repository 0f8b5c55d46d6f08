/* User-defined operations, commutative or not, are applied in rank order (H17: order of
 * reductions); on datatypes with holes, whose bytes are unchanged, and with extents and lower
 * bounds. The function receives the datatype of the call, operands that are aligned as the
 * program's are, and all elements in one call, except in a long MPI_Allreduce under Open MPI if the
 * operation commutes.
 *
 *   coll_user_ops [large]   also long data with a lower bound, with which Open MPI 4.1 alone
 *                           crashes
 */
#include "coll.h"

#include <stddef.h>

enum { MODULUS = 9973 };

static MPI_Comm comm;
static MPI_Datatype expected_type;
static int wrong_types, fewest; /* elements in a call of the function */

/* Matrices of 2 by 2: their product is associative, but not commutative. */
struct matrix {
    int a, b, c, d;
};

static struct matrix times(struct matrix x, struct matrix y)
{
    return (struct matrix){(x.a * y.a + x.b * y.c) % MODULUS, (x.a * y.b + x.b * y.d) % MODULUS,
                           (x.c * y.a + x.d * y.c) % MODULUS, (x.c * y.b + x.d * y.d) % MODULUS};
}

/* Such matrices with holes of two kinds: padding inside the structure, and an extent beyond it. */
struct loose {
    int a;
    char hole[8];
    int b, c;
    char other_hole[4];
    int d;
};

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct matrix *x = in, *y = inout;
    wrong_types += *type != expected_type;
    fewest = *count < fewest ? *count : fewest;
    for (int i = 0; i < *count; i++)
        y[i] = times(x[i], y[i]);
}

static struct matrix tight(const struct loose *l)
{
    return (struct matrix){l->a, l->b, l->c, l->d};
}

static void multiply_loose(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct loose *x = in, *y = inout;
    wrong_types += *type != expected_type;
    for (int i = 0; i < *count; i++) {
        struct matrix m = times(tight(&x[i]), tight(&y[i]));
        y[i].a = m.a, y[i].b = m.b, y[i].c = m.c, y[i].d = m.d;
    }
}

/* Every second int of a buffer, with data that begins 16 bytes after its address. */
enum { STRIDE = 3, LEAD = 4, SPREAD_MAX = 1500 };

static void add_spread(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int *x = in, *y = inout;
    wrong_types += *type != expected_type;
    for (int i = 0; i < *count; i++)
        y[LEAD + i * STRIDE] += x[LEAD + i * STRIDE];
}

/* A structure with padding at the end: the data of n structures end at no multiple of the
 * alignment. */
struct wide {
    long double value;
    int index;
};

static int misaligned;

static void largest(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct wide *x = in, *y = inout;
    wrong_types += *type != expected_type;
    fewest = *count < fewest ? *count : fewest;
    misaligned += (uintptr_t)x % _Alignof(struct wide) || (uintptr_t)y % _Alignof(struct wide);
    for (int i = 0; i < *count && !misaligned; i++)
        if (x[i].value > y[i].value)
            y[i] = x[i];
}

/* Without holes */
struct two {
    long double one, other;
};

static void add_both(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct two *x = in, *y = inout;
    wrong_types += *type != expected_type;
    fewest = *count < fewest ? *count : fewest;
    misaligned += (uintptr_t)x % _Alignof(struct two) || (uintptr_t)y % _Alignof(struct two);
    for (int i = 0; i < *count && !misaligned; i++)
        y[i].one += x[i].one, y[i].other += x[i].other;
}

static struct matrix element(int rank, int i)
{
    unsigned h = (unsigned)(rank * 7919 + i * 104729 + (int)coll_turn) * 2654435761u;
    return (struct matrix){(int)(h >> 8) % MODULUS, (int)(h >> 12) % MODULUS,
                           (int)(h >> 16) % MODULUS, (int)(h >> 4) % MODULUS};
}

static struct matrix product(int ranks, int i)
{
    struct matrix m = element(0, i);
    for (int r = 1; r < ranks; r++)
        m = times(m, element(r, i));
    return m;
}

static bool same(struct matrix x, struct matrix y)
{
    return !memcmp(&x, &y, sizeof x);
}

static bool marks(const char *hole, size_t bytes)
{
    return coll_untouched(hole, hole + bytes);
}

static void check_tight(const struct matrix *got, int ranks, int first, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (!same(got[i], product(ranks, first + i))) {
            CHECK(!"equal", "%s: element %d of %d", what, i, n);
            return;
        }
}

static void matrices(int n, MPI_Datatype type, MPI_Op op)
{
    struct buffer out = buffer_make((size_t)(n * test_size) * sizeof(struct matrix));
    struct buffer in = buffer_make((size_t)(n * test_size) * sizeof(struct matrix));
    struct matrix *mine = (struct matrix *)out.data, *got = (struct matrix *)in.data;
    int counts[16], first = 0;
    coll_turn++;
    expected_type = type;
    for (int i = 0; i < n * test_size; i++)
        mine[i] = element(test_rank, i);
    fewest = n;
    for (int root = 0; root < test_size; root++) {
        MPI_Reduce(mine, got, n, type, op, root, comm);
        if (test_rank == root)
            check_tight(got, test_size, 0, n, "reduce");
    }
    MPI_Allreduce(mine, got, n, type, op, comm);
    CHECK(fewest == n, "the function was called for %d of %d elements", fewest, n);
    check_tight(got, test_size, 0, n, "allreduce");
    MPI_Scan(mine, got, n, type, op, comm);
    check_tight(got, test_rank + 1, 0, n, "scan");
    MPI_Exscan(mine, got, n, type, op, comm);
    if (test_rank)
        check_tight(got, test_rank, 0, n, "exscan");
    MPI_Reduce_scatter_block(mine, got, n, type, op, comm);
    check_tight(got, test_size, test_rank * n, n, "reduce_scatter_block");
    for (int r = 0; r < test_size; r++)
        counts[r] = r % 2 ? n : n / 3;
    for (int r = 0; r < test_rank; r++)
        first += counts[r];
    MPI_Reduce_scatter(mine, got, counts, type, op, comm);
    check_tight(got, test_size, first, counts[test_rank], "reduce_scatter");
    buffer_free(&out);
    buffer_free(&in);
}

static void check_loose(const struct loose *got, int ranks, int n, const char *what)
{
    for (int i = 0; i < n; i++) {
        bool equal = same(tight(&got[i]), product(ranks, i));
        bool kept = marks(got[i].hole, sizeof got[i].hole) &&
                    marks(got[i].other_hole, sizeof got[i].other_hole);
        if (!equal || !kept) {
            CHECK(equal, "%s: element %d of %d with holes", what, i, n);
            CHECK(kept, "%s: a hole of element %d of %d", what, i, n);
            return;
        }
    }
}

static void with_holes(int n, MPI_Datatype type, MPI_Op op)
{
    struct buffer out = buffer_make((size_t)n * sizeof(struct loose));
    struct loose *mine = (struct loose *)out.data;
    coll_turn++;
    expected_type = type;
    for (int i = 0; i < n; i++) {
        struct matrix m = element(test_rank, i);
        mine[i].a = m.a, mine[i].b = m.b, mine[i].c = m.c, mine[i].d = m.d;
    }
    for (int call = 0; call < 4; call++) {
        struct buffer in = buffer_make((size_t)n * sizeof(struct loose));
        struct loose *got = (struct loose *)in.data;
        int root = n % test_size;
        if (call == 0)
            MPI_Allreduce(mine, got, n, type, op, comm);
        else if (call == 1)
            MPI_Reduce(mine, got, n, type, op, root, comm);
        else if (call == 2)
            MPI_Scan(mine, got, n, type, op, comm);
        else
            MPI_Exscan(mine, got, n, type, op, comm);
        if (call == 0 || (call == 1 && test_rank == root))
            check_loose(got, test_size, n, "whole");
        else if (call >= 2 && test_rank + 3 - call > 0)
            check_loose(got, test_rank + 3 - call, n, call == 2 ? "scan" : "exscan");
        buffer_free(&in);
    }
    buffer_free(&out);
}

static void spread(int n, MPI_Datatype type, MPI_Op op)
{
    size_t bytes = (size_t)(LEAD + n * STRIDE) * sizeof(int);
    struct buffer out = buffer_make(bytes), in = buffer_make(bytes);
    int *mine = (int *)out.data, *got = (int *)in.data, wrong = 0, touched = 0;
    coll_turn++;
    expected_type = type;
    for (int i = 0; i < n; i++)
        mine[LEAD + i * STRIDE] = test_rank * 1000 + i;
    MPI_Allreduce(mine, got, n, type, op, comm);
    for (int i = 0; i < n; i++) {
        wrong += got[LEAD + i * STRIDE] != test_size * (test_size - 1) / 2 * 1000 + test_size * i;
        touched += !marks((char *)&got[LEAD + i * STRIDE + 1], (STRIDE - 1) * sizeof(int));
    }
    CHECK(!wrong && !touched, "spread: %d of %d are wrong, %d holes", wrong, n, touched);
    CHECK(marks(in.data, LEAD * sizeof(int)));
    MPI_Reduce(mine, got, n, type, op, test_size - 1, comm);
    MPI_Scan(MPI_IN_PLACE, mine, n, type, op, comm);
    wrong = 0;
    for (int i = 0; i < n; i++)
        wrong +=
            mine[LEAD + i * STRIDE] != test_rank * (test_rank + 1) / 2 * 1000 + (test_rank + 1) * i;
    CHECK(!wrong, "scan of spread: %d of %d are wrong", wrong, n);
    buffer_free(&out);
    buffer_free(&in);
}

static void aligned(int n, MPI_Datatype type, MPI_Op op)
{
    struct wide *mine = calloc((size_t)n, sizeof *mine), *got = calloc((size_t)n, sizeof *got);
    int wrong = 0;
    expected_type = type;
    for (int i = 0; i < n; i++)
        mine[i].index = test_rank, mine[i].value = (test_rank + i) % test_size;
    fewest = n;
    MPI_Allreduce(mine, got, n, type, op, comm);
    CHECK(fewest == n || host_is("Open MPI"), "the function was called for %d of %d elements",
          fewest, n);
    for (int i = 0; i < n; i++)
        wrong += got[i].value != test_size - 1 || (got[i].index + i) % test_size != test_size - 1;
    CHECK(!misaligned, "the function was called with misaligned operands %d times", misaligned);
    CHECK(!wrong, "%d of %d", wrong, n);
    free(mine);
    free(got);
}

/* Under Open MPI, which divides long operands in MPI_Allreduce, the library does so, too; otherwise
 * the function gets all pairs. */
static void pairs(int n, MPI_Datatype type, MPI_Op op)
{
    struct two *mine = malloc((size_t)n * sizeof *mine), *got = malloc((size_t)n * sizeof *got);
    bool divides = host_is("Open MPI") && (size_t)n * sizeof *mine > 16384;
    expected_type = type;
    for (int i = 0; i < n; i++)
        mine[i] = (struct two){i, test_rank};
    for (int root = 0; root <= test_size; root++) {
        bool for_all = root == test_size;
        int wrong = 0;
        fewest = n;
        if (for_all)
            MPI_Allreduce(mine, got, n, type, op, comm);
        else
            MPI_Reduce(mine, got, n, type, op, root, comm);
        for (int i = 0; i < n && (for_all || test_rank == root); i++)
            wrong += got[i].one != (long double)i * test_size ||
                     got[i].other != test_size * (test_size - 1) / 2;
        CHECK(!wrong, "%d of %d", wrong, n);
        CHECK(!misaligned, "the function was called with misaligned pairs %d times", misaligned);
        CHECK(divides && for_all ? fewest < n : fewest == n,
              "the function was called for %d of %d pairs, root %d", fewest, n, root);
    }
    free(mine);
    free(got);
}

static void add_floats(void *in, void *inout, int *count, MPI_Datatype *type)
{
    float *x = in, *y = inout;
    wrong_types += *type != MPI_FLOAT;
    misaligned += (uintptr_t)x % 16 || (uintptr_t)y % 16;
    for (int i = 0; i < *count; i++)
        y[i] += x[i];
}

/* An operand that is no multiple of the alignment of malloc() */
static void floats(int n, MPI_Op op)
{
    float *mine = calloc((size_t)n, sizeof *mine), *got = calloc((size_t)n, sizeof *got);
    int wrong = 0;
    for (int i = 0; i < n; i++)
        mine[i] = (float)(i % 1000);
    MPI_Scan(mine, got, n, MPI_FLOAT, op, comm);
    for (int i = 0; i < n; i++)
        wrong += got[i] != (float)((test_rank + 1) * (i % 1000));
    CHECK(!wrong, "scan of floats: %d of %d", wrong, n);
    CHECK(!misaligned, "the function was called with misaligned floats %d times", misaligned);
    free(mine);
    free(got);
}

static void add_any_floats(void *in, void *inout, int *count, MPI_Datatype *type)
{
    float *x = in, *y = inout;
    int n = *type == MPI_FLOAT ? *count : 2 * *count;
    for (int i = 0; i < n; i++)
        y[i] += x[i];
}

/* Whether a call is left to the host depends on its bytes, so it must not depend on how a rank
 * describes them (H13). Odd ranks pass pairs of floats. */
static void own_types(int pairs, MPI_Datatype pair, MPI_Op op)
{
    size_t n = 2 * (size_t)pairs;
    float *mine = malloc(n * sizeof *mine), *got = malloc(n * sizeof *got);
    bool odd = test_rank % 2;
    int wrong = 0;
    for (size_t i = 0; i < n; i++)
        mine[i] = (float)(i % 1000);
    MPI_Reduce(mine, got, odd ? pairs : 2 * pairs, odd ? pair : MPI_FLOAT, op, 0, comm);
    for (size_t i = 0; i < n && !test_rank; i++)
        wrong += got[i] != (float)(test_size * (int)(i % 1000));
    CHECK(!wrong, "%d pairs: %d floats are wrong", pairs, wrong);
    free(mine);
    free(got);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 2, 9, 130, 1500, 20000};
    MPI_Datatype matrix, loose, wide, two, part, one, commit, pair;
    MPI_Op ordered, ordered_loose, any_order, by_value, both, plus, any_plus;
    coll_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    coll_warm(comm);
    MPI_Type_contiguous(4, MPI_INT, &matrix);
    MPI_Type_commit(&matrix);
    int lengths[] = {1, 2, 1};
    MPI_Aint displs[] = {offsetof(struct loose, a), offsetof(struct loose, b),
                         offsetof(struct loose, d)};
    MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Type_create_struct(3, lengths, displs, ints, &part);
    MPI_Type_create_resized(part, 0, sizeof(struct loose), &loose);
    MPI_Type_commit(&loose);
    MPI_Type_free(&part);
    MPI_Type_create_struct(2, (int[]){1, 1},
                           (MPI_Aint[]){offsetof(struct wide, value), offsetof(struct wide, index)},
                           (MPI_Datatype[]){MPI_LONG_DOUBLE, MPI_INT}, &part);
    MPI_Type_create_resized(part, 0, sizeof(struct wide), &wide);
    MPI_Type_commit(&wide);
    MPI_Type_free(&part);
    MPI_Type_contiguous(2, MPI_LONG_DOUBLE, &two);
    MPI_Type_commit(&two);
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    MPI_Aint lead[] = {LEAD * sizeof(int)};
    MPI_Type_create_hindexed(1, (int[]){1}, lead, MPI_INT, &commit);
    MPI_Type_create_resized(commit, -4, STRIDE * sizeof(int), &one);
    MPI_Type_commit(&one);
    MPI_Type_free(&commit);
    MPI_Op_create(multiply, 0, &ordered);
    MPI_Op_create(multiply_loose, 0, &ordered_loose);
    MPI_Op_create(add_spread, 1, &any_order);
    MPI_Op_create(largest, 1, &by_value);
    MPI_Op_create(add_both, 1, &both);
    MPI_Op_create(add_floats, 1, &plus);
    MPI_Op_create(add_any_floats, 1, &any_plus);
    for (int c = 0; c < (int)(sizeof counts / sizeof *counts); c++) {
        matrices(counts[c], matrix, ordered);
        with_holes(counts[c], loose, ordered_loose);
        aligned(counts[c], wide, by_value);
        pairs(counts[c] | 1, two, both);
        floats(counts[c] | 1, plus);
        if (counts[c] <= SPREAD_MAX || argc > 1)
            spread(counts[c], one, any_order);
    }
    for (int pairs = 10000; pairs <= 80000; pairs *= 2) /* 80 to 640 KB */
        own_types(pairs, pair, any_plus);
    CHECK(!wrong_types, "the function was called with another datatype %d times", wrong_types);
    MPI_Op_free(&ordered);
    MPI_Op_free(&ordered_loose);
    MPI_Op_free(&any_order);
    MPI_Op_free(&by_value);
    MPI_Op_free(&both);
    MPI_Op_free(&plus);
    MPI_Op_free(&any_plus);
    MPI_Type_free(&matrix);
    MPI_Type_free(&loose);
    MPI_Type_free(&wide);
    MPI_Type_free(&two);
    MPI_Type_free(&one);
    MPI_Type_free(&pair);
    return test_end();
}
