#include "rma_shm/atomic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- the two modes ---- */

/* Begin a native operation. False: the target is in bulk mode, or the thread has no inflight
 * slot. */
static inline bool native_enter(struct thread *thread, struct win_target *target)
{
    /* A target stays in bulk mode until its window is freed. So if the mode is set, skip the count,
     * whose atomic instruction takes as long as the operation itself. */
    if (atomic_load_explicit(&target->bulk_mode, memory_order_relaxed))
        return false;
    if (UNLIKELY(!thread->inflight))
        thread_take_inflight(thread);
    struct inflight *own = thread->inflight;
    if (UNLIKELY(!own))
        return false;
    uint32_t count = atomic_load_explicit(&own->count, memory_order_relaxed);
    assert(count % 2 == 0);
    /* Writes the count before reading the mode. In the other order this thread could miss bulk mode
     * while the changer misses this thread. */
    atomic_exchange_explicit(&own->count, count + 1, memory_order_seq_cst);
    if (LIKELY(!atomic_load_explicit(&target->bulk_mode, memory_order_seq_cst)))
        return true;
    atomic_store_explicit(&own->count, count + 2, memory_order_release);
    return false;
}

static inline void native_leave(struct win *win, struct thread *thread)
{
    struct inflight *own = thread->inflight;
    uint32_t count = atomic_load_explicit(&own->count, memory_order_relaxed);
    assert(count % 2 == 1);
    /* Release: a rank that sees the even count also observes our changes to the target. */
    atomic_store_explicit(&own->count, count + 1, memory_order_release);
    if (!SYNC_ATOMICS_FENCE)
        win_wrote(win);
}

/* Wait until the thread is outside a native operation, or in a later one, which sees bulk mode. */
static void await_outside(struct inflight *thread)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t first = atomic_load_explicit(&thread->count, memory_order_seq_cst);
    if (first % 2 == 0)
        return;
    while (atomic_load_explicit(&thread->count, memory_order_acquire) == first)
        sync_pause(&wait);
}

static COLD void change_to_bulk(struct win *win, struct win_target *target)
{
    /* Writes the mode before reading the counts: see native_enter(). */
    atomic_store_explicit(&target->bulk_mode, 1, memory_order_seq_cst);
    for (uint32_t r = 0; r < win->size; r++)
        for (unsigned i = 0; i < INFLIGHT_SLOTS; i++)
            await_outside(&win->peer[r].inflight[i]);
}

/* This rank holds the lock of the target exclusively, only one of its threads at a time calls MPI,
 * and no rank has operated on the window without regard to epochs, so no other operation on the
 * target can be in flight. Sequentially consistent, with the store in begin_leniency(): either
 * this rank sees the word, or the other rank sees the lock. */
static inline bool holds_target_alone(const struct win *win, const struct peer *peer)
{
    return peer->lock == WIN_EXCLUSIVE && !thread_concurrent &&
           !atomic_load_explicit(&win->shared->lenient_used, memory_order_seq_cst);
}

/* Returns the target whose mutex was taken; NULL: the mutex was not needed. */
static struct win_target *bulk_enter(struct win *win, const struct peer *peer)
{
    struct win_target *target = peer->target;
    if (holds_target_alone(win, peer))
        return NULL;
    mutex_lock(&target->bulk_mutex);
    if (UNLIKELY(!atomic_load_explicit(&target->bulk_mode, memory_order_relaxed)))
        change_to_bulk(win, target);
    return target;
}

/* Give a waiting rank a chance to take the mutex. */
static void bulk_yield(struct win_target *entered)
{
    if (!entered)
        return;
    mutex_unlock(&entered->bulk_mutex);
    mutex_lock(&entered->bulk_mutex);
}

/* The unlock is only a release, so the next flush, unlock or fence must be a full fence. */
static void bulk_leave(struct win *win, struct win_target *entered)
{
    if (entered)
        mutex_unlock(&entered->bulk_mutex);
    win_wrote(win);
}

static bool is_aligned(const void *at, size_t power_of_two)
{
    return ((uintptr_t)at & (power_of_two - 1)) == 0;
}

/* ---- native operations on one element ---- */

#define NATIVE(type, bits)                                                                    \
    static void native_load_##bits(const struct reducer *r, void *at, const void *origin,     \
                                   void *result)                                              \
    {                                                                                         \
        (void)r, (void)origin;                                                                \
        type old = __atomic_load_n((type *)at, __ATOMIC_SEQ_CST);                             \
        if (result)                                                                           \
            memcpy(result, &old, sizeof old);                                                 \
    }                                                                                         \
    static void native_exchange_##bits(const struct reducer *r, void *at, const void *origin, \
                                       void *result)                                          \
    {                                                                                         \
        (void)r;                                                                              \
        type operand;                                                                         \
        memcpy(&operand, origin, sizeof operand);                                             \
        operand = __atomic_exchange_n((type *)at, operand, __ATOMIC_SEQ_CST);                 \
        if (result)                                                                           \
            memcpy(result, &operand, sizeof operand);                                         \
    }                                                                                         \
    static void native_add_##bits(const struct reducer *r, void *at, const void *origin,      \
                                  void *result)                                               \
    {                                                                                         \
        (void)r;                                                                              \
        type operand;                                                                         \
        memcpy(&operand, origin, sizeof operand);                                             \
        operand = __atomic_fetch_add((type *)at, operand, __ATOMIC_SEQ_CST);                  \
        if (result)                                                                           \
            memcpy(result, &operand, sizeof operand);                                         \
    }                                                                                         \
    static void native_kernel_##bits(const struct reducer *r, void *at, const void *origin,   \
                                     void *result)                                            \
    {                                                                                         \
        type operand, new, old = __atomic_load_n((type *)at, __ATOMIC_RELAXED);               \
        memcpy(&operand, origin, sizeof operand);                                             \
        do {                                                                                  \
            new = old;                                                                        \
            r->kernel(&new, &new, &operand, 1, NULL);                                         \
        } while (!__atomic_compare_exchange_n((type *)at, &old, new, true, __ATOMIC_SEQ_CST,  \
                                              __ATOMIC_RELAXED));                             \
        if (result)                                                                           \
            memcpy(result, &old, sizeof old);                                                 \
    }
NATIVE(uint8_t, 8)
NATIVE(uint16_t, 16)
NATIVE(uint32_t, 32)
NATIVE(uint64_t, 64)
#undef NATIVE

struct reducer atomic_reducer(enum op op, enum prim prim, uint32_t bytes, combine_fn *kernel)
{
    struct reducer r = {.op = op, .element = bytes, .kernel = kernel};
    bool integer = prim <= PRIM_U64;
#define CHOOSE(bits)                                      \
    (op == OP_NO_OP              ? native_load_##bits     \
     : op == OP_REPLACE          ? native_exchange_##bits \
     : !kernel                   ? NULL                   \
     : (op == OP_SUM && integer) ? native_add_##bits      \
                                 : native_kernel_##bits)
    switch (bytes) {
    case 1:
        r.native = CHOOSE(8);
        break;
    case 2:
        r.native = CHOOSE(16);
        break;
    case 4:
        r.native = CHOOSE(32);
        break;
    case 8:
        r.native = CHOOSE(64);
        break;
    default:
        break;
    }
#undef CHOOSE
    return r;
}
_Static_assert(PRIM_I8 == 0 && PRIM_U64 == 7, "the integers come first");

/* ---- bulk operations ---- */

static void combine(const struct reducer *r, void *inout, const void *in, size_t bytes)
{
    if (r->op == OP_REPLACE)
        copy_bytes(inout, in, bytes);
    else
        reducer_combine(r, inout, inout, in, bytes);
}

/* Only elements must be atomic, so a long operation releases the mutex after this many bytes. */
enum { HOLD_BYTES = 65536 };

static void bulk_block(const struct reducer *r, struct win_target *entered, char *at,
                       const char *origin, char *result, size_t bytes)
{
    for (;;) {
        size_t part = bytes;
        if (UNLIKELY(part > HOLD_BYTES))
            part = HOLD_BYTES - HOLD_BYTES % r->element;
        if (result)
            memcpy(result, at, part);
        if (r->op != OP_NO_OP)
            combine(r, at, origin, part);
        bytes -= part;
        if (LIKELY(!bytes))
            return;
        at += part;
        origin = origin ? origin + part : NULL;
        result = result ? result + part : NULL;
        bulk_yield(entered);
    }
}

/* An operation in bulk mode on a target that is not contiguous, by a walk of its blocks. */
struct bulk {
    const struct reducer *reducer;
    struct win_target *entered;
    char *other;        /* the other side of the walk: `origin`, or with OP_NO_OP `result` */
    const char *origin; /* contiguous elements; NULL with OP_NO_OP */
    char *result;       /* contiguous elements, or NULL */
    size_t element;     /* bytes of an element in `origin` or `result`; 1 if of several types */
    size_t held;        /* bytes handled since the mutex was taken */
};

/* Perform the operation on `bytes` bytes that begin at `offset` in the contiguous elements. */
static void bulk_part(struct bulk *b, char *at, size_t offset, size_t bytes)
{
    bulk_block(b->reducer, b->entered, at, b->origin ? b->origin + offset : NULL,
               b->result ? b->result + offset : NULL, bytes);
    b->held += bytes;
}

static void bulk_piece(void *context, char *at, ptrdiff_t at_stride, char *other,
                       ptrdiff_t other_stride, size_t bytes, size_t blocks)
{
    struct bulk *b = context;
    for (; blocks; blocks--, at += at_stride, other += other_stride) {
        size_t offset = (size_t)(other - b->other), first = 0;
        if (b->held >= HOLD_BYTES) {
            /* A block may begin with the rest of an element: see merge_runs() in core/typemap.c. */
            first = min_size((b->element - offset % b->element) % b->element, bytes);
            bulk_part(b, at, offset, first);
            if ((offset + first) % b->element == 0) {
                b->held = 0;
                bulk_yield(b->entered);
            }
        }
        bulk_part(b, at + first, offset + first, bytes - first);
    }
}

/* ---- bulk operations on many short blocks ---- */

/* One operation. All fields are set before any memory of the program changes. */
struct accumulation {
    const struct reducer *reducer;
    const struct typemap *map; /* of the target */
    char *at;                  /* address in the window of the target */
    size_t bytes;              /* of data; elements count with their holes */
    const char *origin;        /* contiguous: the program's buffer or `origin_copy` */
    char *result;              /* contiguous: the program's buffer or `result_copy` */
    char *origin_copy, *result_copy;
};

/* GATHER_BYTES: of elements in a buffer on the stack. Blocks shorter than GATHER_BLOCK are
 * gathered. */
enum { GATHER_BYTES = 768, GATHER_BLOCK = 256 };

/* Combine the elements [first, first + bytes) of the target in one step: gather, combine, scatter.
 * One call of the kernel per block would take twice as long. */
static void gather_part(const struct accumulation *o, struct buffer target, size_t first,
                        size_t bytes)
{
    _Alignas(64) char part[GATHER_BYTES];
    const struct reducer *r = o->reducer;
    const char *data = o->origin ? o->origin + first : NULL;
    char *result = o->result ? o->result + first : NULL;
    if (result)
        buffer_read(result, target, first, bytes);
    if (r->op == OP_NO_OP)
        return;
    if (r->op != OP_REPLACE) {
        if (result)
            memcpy(part, result, bytes);
        else
            buffer_read(part, target, first, bytes);
        combine(r, part, data, bytes);
        data = part;
    }
    buffer_write(target, first, data, bytes);
}

static void operate_by_gathering(const struct accumulation *o, struct win_target *entered)
{
    struct buffer target = {.at = o->at, .map = o->map, .count = 1};
    size_t most = GATHER_BYTES - GATHER_BYTES % o->map->element, held = 0;
    for (size_t first = 0, part; first < o->bytes; first += part) {
        if (held >= HOLD_BYTES) {
            held = 0;
            bulk_yield(entered);
        }
        part = min_size(most, o->bytes - first);
        gather_part(o, target, first, part);
        held += part;
    }
}

/* Only blocks that ascend are known not to overlap: the hosts combine a location that occurs twice
 * with both operands. A reduction does not write to the holes of elements. */
static bool can_gather(const struct accumulation *o)
{
    const struct typemap *map = o->map;
    const struct run *run = &map->runs[0];
    bool short_vector =
        map->run_count == 1 && !run->pattern && !run->list && run->bytes < GATHER_BLOCK;
    return (map->fine || short_vector) && map->ascending && map->prim != PRIM_MIXED &&
           !map->without_holes && (o->bytes <= map->size || map->extent >= map->high - map->low);
}

/* ---- contiguous elements ---- */

void win_combine(struct win *win, struct thread *thread, const struct reducer *r, uint32_t target,
                 char *at, const char *origin, char *result, size_t bytes)
{
    const struct peer *peer = &win->peer[target];
    if (LIKELY(r->native != NULL) && LIKELY(bytes <= (size_t)ATOMIC_FEW * r->element) &&
        LIKELY(is_aligned(at, r->element)) && LIKELY(!holds_target_alone(win, peer)) &&
        LIKELY(native_enter(thread, peer->target))) {
        for (size_t i = 0; i < bytes; i += r->element)
            r->native(r, at + i, origin ? origin + i : NULL, result ? result + i : NULL);
        native_leave(win, thread);
        return;
    }
    struct win_target *entered = bulk_enter(win, peer);
    bulk_block(r, entered, at, origin, result, bytes);
    bulk_leave(win, entered);
}

/* ---- accumulate ---- */

static bool is_plain_map(const struct typemap *map)
{
    return map->contiguous && !map->without_holes;
}

/* Data that is only moved is accessed without the holes of its elements. */
static const struct typemap *map_for(const struct reducer *r, const struct typemap *map)
{
    return r->op == OP_REPLACE || r->op == OP_NO_OP ? typemap_to_move(map) : map;
}

/* Empty data match any data. */
static bool same_elements(struct buffer data, const struct typemap *element)
{
    const struct typemap *map = data.map;
    return !data.count || !map->size ||
           (map->prim == element->prim && (map->prim != PRIM_OTHER || map->base == element->base));
}

static enum win_error prepare_origin(struct accumulation *o, struct buffer origin)
{
    const struct typemap *map = map_for(o->reducer, origin.map);
    size_t bytes;
    if (__builtin_mul_overflow(map->size, origin.count, &bytes) || bytes > o->bytes)
        return WIN_ERR_LENGTH;
    o->bytes = bytes; /* the target may have room for more */
    o->origin = origin.at;
    if (map->contiguous)
        return WIN_OK;
    o->origin = o->origin_copy = malloc(bytes ? bytes : 1);
    if (!o->origin_copy)
        return WIN_ERR_MEMORY;
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, bytes);
    typemap_copy(o->origin_copy, &plain, origin.at, map, bytes);
    return WIN_OK;
}

/* MPI does not allow the operand's buffer as the result's, but programs pass it. */
static enum win_error prepare_result(struct accumulation *o, struct buffer result)
{
    size_t capacity;
    if (__builtin_mul_overflow(map_for(o->reducer, result.map)->size, result.count, &capacity) ||
        o->bytes > capacity)
        return WIN_ERR_LENGTH;
    o->result = result.at;
    if (is_plain_map(result.map) && result.at != o->origin)
        return WIN_OK;
    o->result = o->result_copy = malloc(o->bytes ? o->bytes : 1);
    return o->result_copy ? WIN_OK : WIN_ERR_MEMORY;
}

/* Copy the result to the program's buffer without writing to holes. */
static void deliver_result(struct accumulation *o, const struct typemap *element,
                           struct buffer result)
{
    if (!o->result_copy)
        return;
    if (map_for(o->reducer, element) == element && element->without_holes) {
        size_t bytes = o->bytes / element->element * element->without_holes->size;
        typemap_copy(result.at, typemap_to_move(result.map), o->result_copy, element->without_holes,
                     bytes);
        return;
    }
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, o->bytes);
    typemap_copy(result.at, typemap_to_move(result.map), o->result_copy, &plain, o->bytes);
}

static void operate_by_walk(struct accumulation *o, const struct typemap *element,
                            struct win_target *entered)
{
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, o->bytes);
    struct bulk bulk = {.reducer = o->reducer,
                        .entered = entered,
                        .other = o->origin ? (char *)o->origin : o->result,
                        .origin = o->origin,
                        .result = o->result,
                        .element =
                            element->prim == PRIM_MIXED ? 1 : map_for(o->reducer, element)->size};
    typemap_walk(o->at, o->map, bulk.other, &plain, o->bytes, bulk_piece, &bulk);
}

static void operate_in_bulk(struct win *win, struct accumulation *o, const struct typemap *element,
                            int target)
{
    struct win_target *entered = bulk_enter(win, &win->peer[target]);
    if (can_gather(o))
        operate_by_gathering(o, entered);
    else
        operate_by_walk(o, element, entered);
    bulk_leave(win, entered);
}

/* Find the target memory of an accumulate. In a dynamic window, the holes of an element are a part
 * of it: every operation on an element must be performed by the same side, also one that does not
 * access the holes. */
static enum win_error locate(struct win *win, struct accumulation *o, int target, int64_t disp,
                             const struct typemap *with_holes)
{
    size_t size = o->map->size;
    if (!win->attached || !size)
        return win_locate_data(win, target, disp, o->map, o->bytes, &o->at);
    size_t copies = o->bytes / size + (o->bytes % size != 0), bytes;
    if (__builtin_mul_overflow(copies, with_holes->size, &bytes))
        return WIN_ERR_RANGE;
    return win_locate_data(win, target, disp, with_holes, bytes, &o->at);
}

enum win_error win_accumulate(struct win *win, const struct reducer *r,
                              const struct typemap *element, struct buffer origin,
                              struct buffer result, int target, int64_t disp,
                              struct buffer target_data)
{
    struct accumulation o = {.reducer = r, .map = map_for(r, target_data.map)};
    bool fetch = result.map, use = r->op != OP_NO_OP, moves = !use || r->op == OP_REPLACE;
    if (!moves && (!same_elements(target_data, element) || !same_elements(origin, element) ||
                   (fetch && !same_elements(result, element))))
        return WIN_ERR_TYPE;
    if (__builtin_mul_overflow(o.map->size, target_data.count, &o.bytes))
        return WIN_ERR_LENGTH;
    enum win_error error = use ? prepare_origin(&o, origin) : WIN_OK;
    if (!error && fetch)
        error = prepare_result(&o, result);
    if (!error)
        error = locate(win, &o, target, disp, target_data.map);
    if (!error && o.bytes && (use || fetch)) {
        if (o.map->contiguous)
            win_combine(win, thread_self(), r, (uint32_t)target, o.at, o.origin, o.result, o.bytes);
        else
            operate_in_bulk(win, &o, element, target);
        deliver_result(&o, element, result);
    }
    free(o.origin_copy);
    free(o.result_copy);
    return error;
}

/* ---- compare and swap ---- */

static bool native_compare_and_swap(char *at, const void *origin, const void *compare, void *result,
                                    size_t bytes)
{
#define SWAP(type)                                                                  \
    {                                                                               \
        type old, new;                                                              \
        memcpy(&old, compare, sizeof old);                                          \
        memcpy(&new, origin, sizeof new);                                           \
        __atomic_compare_exchange_n((type *)at, &old, new, false, __ATOMIC_SEQ_CST, \
                                    __ATOMIC_SEQ_CST);                              \
        memcpy(result, &old, sizeof old);                                           \
        return true;                                                                \
    }
    switch (bytes) {
    case 8:
        SWAP(uint64_t)
    case 4:
        SWAP(uint32_t)
    case 2:
        SWAP(uint16_t)
    case 1:
        SWAP(uint8_t)
    default:
        return false;
    }
#undef SWAP
}

void win_compare_and_swap(struct win *win, struct thread *thread, uint32_t target, char *at,
                          const void *origin, const void *compare, void *result, size_t bytes)
{
    const struct peer *peer = &win->peer[target];
    bool power_of_two = (bytes & (bytes - 1)) == 0;
    if (LIKELY(bytes <= 8 && power_of_two) && LIKELY(is_aligned(at, bytes)) &&
        LIKELY(native_enter(thread, peer->target))) {
        native_compare_and_swap(at, origin, compare, result, bytes);
        native_leave(win, thread);
        return;
    }
    struct win_target *entered = bulk_enter(win, peer);
    /* `result` may be `origin`, so it is written last. */
    if (memcmp(at, compare, bytes) != 0) {
        memmove(result, at, bytes);
    } else {
        memmove(at, origin, bytes);
        memmove(result, compare, bytes);
    }
    bulk_leave(win, entered);
}
