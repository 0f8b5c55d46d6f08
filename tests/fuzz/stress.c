/* Ranks race for the same elements. The results must be possible with some order of atomic
 * operations; each kind of race has an outcome that does not depend on which. */
#include "play.h"

enum { ELEMENTS_MAX = 200, ROUNDS = 1500, DRAWS = 6000 };

struct fight {
    MPI_Comm comm;
    MPI_Win win;
    int rank, size;
    uint64_t seed;
    struct rng rng; /* the same on all ranks */
    const struct basic *basic;
    int op, elements;
    long offset; /* of the first element in the window */
    char *memory;
};

/* ---- the window ---- */

static char *element(const struct fight *f, long i)
{
    return f->memory + f->offset + i * f->basic->extent;
}

static void open_window(struct fight *f)
{
    MPI_Aint bytes = f->offset + (MPI_Aint)f->elements * f->basic->extent;
    if (chance(&f->rng, 50)) {
        DO(Win_allocate, bytes, 1, MPI_INFO_NULL, f->comm, &f->memory, &f->win);
    } else {
        DO(Alloc_mem, bytes, MPI_INFO_NULL, &f->memory);
        DO(Win_create, f->memory, bytes, 1, MPI_INFO_NULL, f->comm, &f->win);
    }
    if (failures)
        give_up("no window");
    DO(Win_set_errhandler, f->win, MPI_ERRORS_RETURN);
    memset(f->memory, 0, (size_t)bytes);
}

static void close_window(struct fight *f)
{
    int *flavor, found;
    DO(Win_get_attr, f->win, MPI_WIN_CREATE_FLAVOR, &flavor, &found);
    bool created = *flavor == MPI_WIN_FLAVOR_CREATE;
    DO(Win_free, &f->win);
    if (created)
        DO(Free_mem, f->memory);
}

/* ---- epochs: access of all to all ---- */

enum epoch { LOCKED_ALL, LOCKED_EACH, FENCED, POSTED };

static void begin(struct fight *f, enum epoch epoch)
{
    MPI_Group all;
    barrier(f->comm);
    if (epoch == LOCKED_ALL)
        DO(Win_lock_all, 0, f->win);
    else if (epoch == FENCED)
        DO(Win_fence, 0, f->win);
    else if (epoch == POSTED) {
        DO(Win_get_group, f->win, &all);
        DO(Win_post, all, 0, f->win);
        DO(Win_start, all, 0, f->win);
        DO(Group_free, &all);
    }
}

static void end(struct fight *f, enum epoch epoch)
{
    if (epoch == LOCKED_ALL)
        DO(Win_unlock_all, f->win);
    else if (epoch == FENCED)
        DO(Win_fence, MPI_MODE_NOSUCCEED, f->win);
    else if (epoch == POSTED) {
        DO(Win_complete, f->win);
        DO(Win_wait, f->win);
    }
    barrier(f->comm);
    DO(Win_lock, MPI_LOCK_SHARED, f->rank, 0, f->win);
}

static void lock_one(struct fight *f, enum epoch epoch, int target, int kind)
{
    if (epoch == LOCKED_EACH)
        DO(Win_lock, kind, target, 0, f->win);
}

static void unlock_one(struct fight *f, enum epoch epoch, int target)
{
    if (epoch == LOCKED_EACH)
        DO(Win_unlock, target, f->win);
}

/* ---- all combine, by one operation that commutes ---- */

/* One operation of a rank; every rank can compute the operations of all ranks. */
struct blow {
    enum call call;
    int target, first, count;
    bool strided, request, exclusive, flush;
};

static struct blow next_blow(const struct fight *f, struct rng *r)
{
    static const enum call calls[] = {ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP};
    struct blow b = {.call = calls[below(r, 3)], .target = (int)below(r, f->size)};
    /* Most of them on the same few elements. */
    int most = chance(r, 60) ? 1 : chance(r, 50) ? 9 : f->elements;
    b.count =
        b.call == FETCH_AND_OP ? 1 : (int)between(r, 1, most > f->elements ? f->elements : most);
    b.strided = b.call != FETCH_AND_OP && chance(r, 25);
    int span = b.strided ? 2 * b.count - 1 : b.count;
    if (span > f->elements)
        b.strided = false, span = b.count;
    b.first = chance(r, 60) ? 0 : (int)below(r, f->elements - span + 1);
    b.request = chance(r, 20);
    b.exclusive = chance(r, 30);
    b.flush = chance(r, 30);
    return b;
}

static void strike(struct fight *f, const struct blow *b, char *origin, char *result,
                   enum epoch epoch)
{
    MPI_Datatype type = f->basic->type, target_type = type;
    int count = b->count, target_count = count;
    MPI_Aint at = f->offset + (MPI_Aint)b->first * f->basic->extent;
    bool passive = epoch == LOCKED_ALL || epoch == LOCKED_EACH;
    MPI_Op op = op_handle(f->op);
    MPI_Request request = MPI_REQUEST_NULL;
    if (b->strided) {
        DO(Type_vector, count, 1, 2, type, &target_type);
        DO(Type_commit, &target_type);
        target_count = 1;
    }
    lock_one(f, epoch, b->target, b->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED);
    if (b->call == FETCH_AND_OP)
        DO(Fetch_and_op, origin, result, type, b->target, at, op, f->win);
    else if (b->call == ACCUMULATE && b->request && passive)
        DO(Raccumulate, origin, count, type, b->target, at, target_count, target_type, op, f->win,
           &request);
    else if (b->call == ACCUMULATE)
        DO(Accumulate, origin, count, type, b->target, at, target_count, target_type, op, f->win);
    else if (b->request && passive)
        DO(Rget_accumulate, origin, count, type, result, count, type, b->target, at, target_count,
           target_type, op, f->win, &request);
    else
        DO(Get_accumulate, origin, count, type, result, count, type, b->target, at, target_count,
           target_type, op, f->win);
    DO(Wait, &request, MPI_STATUS_IGNORE);
    if (b->flush && passive)
        DO(Win_flush, b->target, f->win);
    unlock_one(f, epoch, b->target);
    if (b->strided)
        DO(Type_free, &target_type);
}

static bool commutes(const struct basic *b, int op)
{
    bool overflows = op == OP_PROD && (b->kind == REAL || b->kind == COMPLEX);
    return op < OP_REPLACE && op_defined(b, op) && !overflows;
}

static const struct basic *pick_fighters(struct rng *r, int *op)
{
    for (;;) {
        const struct basic *b = &basics[chance(r, 30) ? below(r, 4) : below(r, basic_count)];
        *op = (int)below(r, OP_REPLACE);
        if (b->present && !b->packed && commutes(b, *op))
            return b;
    }
}

static void fill_elements(struct rng *r, const struct fight *f, char *to, int n)
{
    for (int i = 0; i < n; i++)
        fill(r, f->basic, ANY_ORDER, f->op, to + (long)i * f->basic->extent);
}

/* The expected final value of every element of a rank. */
static void work_out(const struct fight *f, int target, char *image)
{
    char *operands = keep((size_t)(ELEMENTS_MAX * f->basic->extent));
    struct rng start = rng_for(f->seed, (uint64_t)(500 + target));
    fill_elements(&start, f, image, f->elements);
    for (int rank = 0; rank < f->size; rank++) {
        struct rng r = rng_for(f->seed, (uint64_t)(1000 + rank));
        for (int round = 0; round < ROUNDS; round++) {
            struct blow b = next_blow(f, &r);
            fill_elements(&r, f, operands, b.count);
            for (int i = 0; b.target == target && i < b.count; i++)
                combine(f->basic, f->op,
                        image + (long)(b.first + i * (b.strided ? 2 : 1)) * f->basic->extent,
                        operands + (long)i * f->basic->extent);
        }
    }
}

static bool same_element(const struct basic *b, const char *x, const char *y)
{
    struct part parts[2];
    for (int p = basic_values(b, parts); p-- > 0;)
        if (memcmp(x + parts[p].at, y + parts[p].at, (size_t)parts[p].size))
            return false;
    return true;
}

static void combine_all(struct fight *f)
{
    f->basic = pick_fighters(&f->rng, &f->op);
    f->elements = (int)between(&f->rng, 1, chance(&f->rng, 30) ? ELEMENTS_MAX : 12);
    f->offset = chance(&f->rng, 75) ? 0 : below(&f->rng, 16);
    enum epoch epoch = (enum epoch)below(&f->rng, 4);
    size_t bytes = (size_t)(ELEMENTS_MAX * f->basic->extent);
    long extent = f->basic->extent;
    char *operands = keep(bytes), *result = keep(bytes), *start = keep(bytes), *images[RANKS_MAX];
    for (int rank = 0; rank < f->size; rank++)
        work_out(f, rank, images[rank] = keep(bytes));
    open_window(f);
    struct rng r = rng_for(f->seed, (uint64_t)(500 + f->rank));
    fill_elements(&r, f, f->memory + f->offset, f->elements);
    begin(f, epoch);
    r = rng_for(f->seed, (uint64_t)(1000 + f->rank));
    for (int round = 0; round < ROUNDS && !failures; round++) {
        struct blow b = next_blow(f, &r);
        progress->op = round;
        fill_elements(&r, f, operands, b.count);
        strike(f, &b, operands, result, epoch);
        if (b.call == ACCUMULATE || epoch == FENCED || epoch == POSTED || !(b.flush || b.request))
            continue;
        struct rng s = rng_for(f->seed, (uint64_t)(500 + b.target));
        fill_elements(&s, f, start, f->elements);
        for (int i = 0; i < b.count; i++) {
            long e = (b.first + i * (b.strided ? 2 : 1)) * extent;
            if (!is_between(f->basic, f->op, start + e, result + i * extent, images[b.target] + e))
                fail("stress: %s %s fetched from rank %d a value that no order explains",
                     f->basic->name, op_names[f->op], b.target);
        }
    }
    end(f, epoch);
    for (int i = 0; i < f->elements && !failures; i++)
        if (!same_element(f->basic, element(f, i), images[f->rank] + i * extent))
            fail("stress: %s %s epoch %d: element %d of %d at offset %ld is not all combined",
                 f->basic->name, op_names[f->op], epoch, i, f->elements, f->offset);
    DO(Win_unlock, f->rank, f->win);
    close_window(f);
}

/* ---- tickets: every number is drawn once ---- */

static uint64_t as_number(const struct basic *b, const void *at)
{
    uint64_t n = 0;
    memcpy(&n, at, (size_t)b->extent);
    return n;
}

enum way { FETCH, FETCH_ONE, FETCH_MANY, SWAP, WAYS };

/* Fetch and increment a rank's counter. */
static uint64_t draw(struct fight *f, enum way way, int target)
{
    const struct basic *b = f->basic;
    static char one[8 * ELEMENTS_MAX] = {1}; /* to the elements after counter 0 is added */
    static char got[8 * ELEMENTS_MAX];
    uint64_t next;
    if (way == FETCH) {
        DO(Fetch_and_op, one, got, b->type, target, f->offset, MPI_SUM, f->win);
    } else if (way != SWAP) {
        int n = way == FETCH_ONE ? 1 : f->elements;
        DO(Get_accumulate, one, n, b->type, got, n, b->type, target, f->offset, n, b->type, MPI_SUM,
           f->win);
    } else {
        DO(Fetch_and_op, NULL, got, b->type, target, f->offset, MPI_NO_OP, f->win);
        DO(Win_flush, target, f->win);
        for (uint64_t seen; !failures; memcpy(got, &seen, 8)) {
            seen = as_number(b, got);
            next = seen + 1;
            uint64_t back = 0;
            DO(Compare_and_swap, &next, got, &back, b->type, target, f->offset, f->win);
            DO(Win_flush, target, f->win);
            if (as_number(b, &back) == seen)
                break;
            seen = back;
        }
    }
    DO(Win_flush, target, f->win);
    return as_number(b, got);
}

static void draw_tickets(struct fight *f)
{
    static const char *const names[] = {"MPI_INT", "MPI_LONG", "MPI_UINT64_T"};
    const char *name = names[below(&f->rng, 3)];
    for (f->basic = basics; strcmp(f->basic->name, name); f->basic++)
        ;
    f->elements = chance(&f->rng, 50) ? 3 : ELEMENTS_MAX;
    f->offset = chance(&f->rng, 80) ? 0 : below(&f->rng, 16);
    int total = DRAWS * f->size, *drawn = keep(sizeof *drawn * (size_t)total), target;
    open_window(f);
    target = (int)below(&f->rng, f->size);
    struct rng r = rng_for(f->seed, (uint64_t)(2000 + f->rank));
    bool mixed = chance(&f->rng, 30);
    enum way own = (enum way)below(&r, WAYS);
    begin(f, LOCKED_ALL);
    uint64_t last = 0;
    for (int i = 0; i < DRAWS && !failures; i++) {
        progress->op = i;
        uint64_t ticket = draw(f, mixed ? (enum way)below(&r, WAYS) : own, target);
        if (ticket >= (uint64_t)total || (i && ticket <= last)) {
            fail("stress: ticket %llu after %llu of %d (%s)", (unsigned long long)ticket,
                 (unsigned long long)last, total, name);
            break;
        }
        drawn[ticket]++;
        last = ticket;
    }
    end(f, LOCKED_ALL);
    DO(Win_unlock, f->rank, f->win);
    DO(Allreduce, MPI_IN_PLACE, drawn, total, MPI_INT, MPI_SUM, f->comm);
    for (int i = 0; i < total && !failures; i++)
        if (drawn[i] != 1)
            fail("stress: ticket %d of %d was drawn %d times (%s)", i, total, drawn[i], name);
    close_window(f);
}

/* ---- puts and gets under locks: a block always holds one number ---- */

static void count_under_locks(struct fight *f)
{
    f->basic = &basics[2]; /* MPI_LONG */
    f->elements = (int)between(&f->rng, 1, 100);
    int nocheck = 0;
    long mine[RANKS_MAX] = {0}, all[RANKS_MAX];
    open_window(f);
    struct rng r = rng_for(f->seed, (uint64_t)(3000 + f->rank));
    barrier(f->comm);
    long *block = keep(sizeof *block * ELEMENTS_MAX);
    for (int i = 0; i < ROUNDS && !failures; i++) {
        int target = chance(&r, 60) ? 0 : (int)below(&r, f->size);
        bool writes = chance(&r, 60);
        progress->op = i;
        DO(Win_lock, writes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, nocheck, f->win);
        DO(Get, block, f->elements, MPI_LONG, target, 0, f->elements, MPI_LONG, f->win);
        DO(Win_flush, target, f->win);
        for (int e = 0; e < f->elements && !failures; e++) {
            if (block[e] != block[0])
                fail("stress: %ld and %ld in a block that is only written under a lock", block[0],
                     block[e]);
        }
        for (int e = 0; e < f->elements; e++)
            block[e]++;
        if (writes) {
            mine[target]++;
            DO(Put, block, f->elements, MPI_LONG, target, 0, f->elements, MPI_LONG, f->win);
        }
        DO(Win_unlock, target, f->win);
    }
    DO(Allreduce, mine, all, f->size, MPI_LONG, MPI_SUM, f->comm);
    DO(Win_lock, MPI_LOCK_SHARED, f->rank, 0, f->win);
    if (!failures && *(long *)f->memory != all[f->rank])
        fail("stress: %ld increments under locks, should be %ld", *(long *)f->memory, all[f->rank]);
    DO(Win_unlock, f->rank, f->win);
    close_window(f);
}

/* ---- replacing: an element is never a mixture ---- */

static void replace_all(struct fight *f)
{
    do
        f->basic = &basics[below(&f->rng, basic_count)];
    while (!f->basic->present || f->basic->packed || f->basic->extent < 4);
    f->elements = chance(&f->rng, 50) ? 2 : (int)between(&f->rng, 2, ELEMENTS_MAX);
    f->offset = chance(&f->rng, 75) ? 0 : below(&f->rng, 16);
    open_window(f);
    const struct basic *b = f->basic;
    struct part parts[2];
    int part_count = basic_parts(b, parts);
    struct rng r = rng_for(f->seed, (uint64_t)(4000 + f->rank));
    size_t bytes = (size_t)(ELEMENTS_MAX * b->extent);
    char *origin = keep(bytes), *result = keep(bytes);
    begin(f, LOCKED_ALL);
    for (int i = 0; i < ROUNDS && !failures; i++) {
        int target = chance(&r, 60) ? 0 : (int)below(&r, f->size);
        int n = chance(&r, 50) ? 1 : (int)between(&r, 1, f->elements);
        progress->op = i;
        memset(origin, (int)below(&r, 256), bytes);
        MPI_Op op = chance(&r, 60) ? MPI_REPLACE : MPI_NO_OP;
        if (n == 1 && chance(&r, 50))
            DO(Fetch_and_op, origin, result, b->type, target, f->offset, op, f->win);
        else
            DO(Get_accumulate, origin, n, b->type, result, n, b->type, target, f->offset, n,
               b->type, op, f->win);
        DO(Win_flush, target, f->win);
        for (int e = 0; e < n && !failures; e++)
            for (int p = 0; p < part_count; p++)
                for (int byte = 0; byte < parts[p].size; byte++)
                    if (result[e * b->extent + parts[p].at + byte] != result[e * b->extent]) {
                        fail("stress: half of one %s and half of another", b->name);
                        byte = parts[p].size;
                    }
    }
    end(f, LOCKED_ALL);
    DO(Win_unlock, f->rank, f->win);
    close_window(f);
}

void stress(uint64_t seed, MPI_Comm comm)
{
    static void (*const fights[])(struct fight *) = {combine_all, combine_all, draw_tickets,
                                                     count_under_locks, replace_all};
    struct fight f = {.comm = comm, .seed = seed, .rng = rng_for(seed, 31)};
    MPI_Comm_rank(comm, &f.rank);
    MPI_Comm_size(comm, &f.size);
    fights[below(&f.rng, 5)](&f);
    release();
}
