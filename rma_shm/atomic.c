#include "rma_shm/atomic.h"

#include <stdlib.h>
#include <string.h>

/* ---- the two modes ---- */

/* False: the target is in bulk mode, or goes there. */
static inline bool native_enter(struct thread *thread, struct win_target *target)
{
    if (UNLIKELY(!thread->inflight))
        thread_take_inflight(thread);
    struct inflight *mine = thread->inflight;
    if (UNLIKELY(!mine))
        return false;
    uint32_t count = atomic_load_explicit(&mine->count, memory_order_relaxed);
    /* The count before the mode: see the header. */
    atomic_exchange_explicit(&mine->count, count + 1, memory_order_seq_cst);
    if (LIKELY(!atomic_load_explicit(&target->bulk, memory_order_seq_cst)))
        return true;
    atomic_store_explicit(&mine->count, count + 2, memory_order_release);
    return false;
}

static inline void native_leave(struct win *win, struct thread *thread)
{
    struct inflight *mine = thread->inflight;
    uint32_t count = atomic_load_explicit(&mine->count, memory_order_relaxed);
    /* Release: who sees us outside sees what we did to the target. */
    atomic_store_explicit(&mine->count, count + 1, memory_order_release);
    if (!SYNC_ATOMICS_FENCE)
        win_wrote(win);
}

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
    /* The mode before the counts: see the header. */
    atomic_store_explicit(&target->bulk, 1, memory_order_seq_cst);
    for (uint32_t r = 0; r < win->size; r++)
        for (unsigned i = 0; i < INFLIGHT_SLOTS; i++)
            await_outside(&win->peer[r].inflight[i]);
}

/* No other operation on the target can be in flight: this rank holds its lock exclusively, and only
 * one of its threads at a time calls MPI. */
static inline bool is_alone(const struct peer *peer)
{
    return peer->lock == WIN_EXCLUSIVE && !thread_concurrent;
}

/* Returns the target whose mutex it has taken; NULL: none was needed. */
static struct win_target *bulk_enter(struct win *win, const struct peer *peer)
{
    struct win_target *target = peer->target;
    if (is_alone(peer))
        return NULL;
    mutex_lock(&target->combining);
    if (UNLIKELY(!atomic_load_explicit(&target->bulk, memory_order_relaxed)))
        change_to_bulk(win, target);
    return target;
}

/* Lets a waiting rank have the mutex in between. */
static void bulk_breathe(struct win_target *entered)
{
    if (!entered)
        return;
    mutex_unlock(&entered->combining);
    mutex_lock(&entered->combining);
}

/* The unlock is only a release, so the next flush, unlock or fence must be a full fence. */
static void bulk_leave(struct win *win, struct win_target *entered)
{
    if (entered)
        mutex_unlock(&entered->combining);
    win_wrote(win);
}

static bool is_aligned(const void *at, size_t power_of_two)
{
    return ((uintptr_t)at & (power_of_two - 1)) == 0;
}

/* ---- native operations on one element ---- */

#define NATIVE(type, bits)                                                                   \
    static void native_load_##bits(const struct reduction_function *c, void *at,             \
                                   const void *origin, void *result)                         \
    {                                                                                        \
        (void)c, (void)origin;                                                               \
        type old = __atomic_load_n((type *)at, __ATOMIC_SEQ_CST);                            \
        if (result)                                                                          \
            memcpy(result, &old, sizeof old);                                                \
    }                                                                                        \
    static void native_exchange_##bits(const struct reduction_function *c, void *at,         \
                                       const void *origin, void *result)                     \
    {                                                                                        \
        (void)c;                                                                             \
        type operand;                                                                        \
        memcpy(&operand, origin, sizeof operand);                                            \
        operand = __atomic_exchange_n((type *)at, operand, __ATOMIC_SEQ_CST);                \
        if (result)                                                                          \
            memcpy(result, &operand, sizeof operand);                                        \
    }                                                                                        \
    static void native_add_##bits(const struct reduction_function *c, void *at,              \
                                  const void *origin, void *result)                          \
    {                                                                                        \
        (void)c;                                                                             \
        type operand;                                                                        \
        memcpy(&operand, origin, sizeof operand);                                            \
        operand = __atomic_fetch_add((type *)at, operand, __ATOMIC_SEQ_CST);                 \
        if (result)                                                                          \
            memcpy(result, &operand, sizeof operand);                                        \
    }                                                                                        \
    static void native_kernel_##bits(const struct reduction_function *c, void *at,           \
                                     const void *origin, void *result)                       \
    {                                                                                        \
        type operand, new, old = __atomic_load_n((type *)at, __ATOMIC_RELAXED);              \
        memcpy(&operand, origin, sizeof operand);                                            \
        do {                                                                                 \
            new = old;                                                                       \
            c->kernel(&new, &new, &operand, 1, NULL);                                        \
        } while (!__atomic_compare_exchange_n((type *)at, &old, new, true, __ATOMIC_SEQ_CST, \
                                              __ATOMIC_RELAXED));                            \
        if (result)                                                                          \
            memcpy(result, &old, sizeof old);                                                \
    }
NATIVE(uint8_t, 8)
NATIVE(uint16_t, 16)
NATIVE(uint32_t, 32)
NATIVE(uint64_t, 64)
#undef NATIVE

struct reduction_function reduction_function_of(enum op op, enum prim prim, uint32_t bytes,
                                                combine_fn *kernel)
{
    struct reduction_function c = {.op = op, .element = bytes, .kernel = kernel};
    bool integer = prim <= PRIM_U64;
#define CHOOSE(bits)                                      \
    (op == OP_NO_OP              ? native_load_##bits     \
     : op == OP_REPLACE          ? native_exchange_##bits \
     : !kernel                   ? NULL                   \
     : (op == OP_SUM && integer) ? native_add_##bits      \
                                 : native_kernel_##bits)
    switch (bytes) {
    case 1:
        c.native = CHOOSE(8);
        break;
    case 2:
        c.native = CHOOSE(16);
        break;
    case 4:
        c.native = CHOOSE(32);
        break;
    case 8:
        c.native = CHOOSE(64);
        break;
    default:
        break;
    }
#undef CHOOSE
    return c;
}
_Static_assert(PRIM_I8 == 0 && PRIM_U64 == 7, "the integers come first");

/* ---- bulk operations ---- */

static void combine(const struct reduction_function *c, void *inout, const void *in, size_t bytes)
{
    if (c->op == OP_REPLACE)
        copy_bytes(inout, in, bytes);
    else if (LIKELY(c->kernel != NULL))
        kernel_combine(c->kernel, c->element, inout, inout, in, bytes, NULL);
    else
        c->host(c, inout, in, bytes / c->element);
}

/* Long operations release the mutex after so many bytes, since only elements need be atomic. */
enum { HOLD_BYTES = 65536 };

static void bulk_block(const struct reduction_function *c, struct win_target *entered, char *at,
                       const char *origin, char *result, size_t bytes)
{
    for (;;) {
        size_t part = bytes;
        if (UNLIKELY(part > HOLD_BYTES))
            part = HOLD_BYTES / c->element * c->element;
        if (result)
            memcpy(result, at, part);
        if (c->op != OP_NO_OP)
            combine(c, at, origin, part);
        bytes -= part;
        if (LIKELY(!bytes))
            return;
        at += part;
        origin = origin ? origin + part : NULL;
        result = result ? result + part : NULL;
        bulk_breathe(entered);
    }
}

/* Accumulating to a target that is not contiguous. */
struct bulk {
    const struct reduction_function *function;
    struct win_target *entered;
    char *stage;        /* the walk's other side: origin's data, or for NO_OP the result's place */
    const char *origin; /* contiguous elements; NULL for NO_OP */
    char *result;       /* contiguous elements, or NULL */
    size_t held;        /* bytes since the mutex was taken */
};

static void bulk_piece(void *context, char *at, ptrdiff_t at_stride, char *stage,
                       ptrdiff_t stage_stride, size_t bytes, size_t blocks)
{
    struct bulk *b = context;
    for (; blocks; blocks--, at += at_stride, stage += stage_stride) {
        size_t offset = (size_t)(stage - b->stage);
        if (b->held >= HOLD_BYTES) {
            b->held = 0;
            bulk_breathe(b->entered);
        }
        bulk_block(b->function, b->entered, at, b->origin ? b->origin + offset : NULL,
                   b->result ? b->result + offset : NULL, bytes);
        b->held += bytes;
    }
}

/* ---- contiguous elements ---- */

void win_combine(struct win *win, struct thread *thread, const struct reduction_function *c,
                 uint32_t target, char *at, const char *origin, char *result, size_t bytes)
{
    const struct peer *peer = &win->peer[target];
    if (LIKELY(c->native != NULL) && LIKELY(bytes <= (size_t)ATOMIC_FEW * c->element) &&
        LIKELY(is_aligned(at, c->element)) && LIKELY(!is_alone(peer)) &&
        LIKELY(native_enter(thread, peer->target))) {
        for (size_t i = 0; i < bytes; i += c->element)
            c->native(c, at + i, origin ? origin + i : NULL, result ? result + i : NULL);
        native_leave(win, thread);
        return;
    }
    struct win_target *entered = bulk_enter(win, peer);
    bulk_block(c, entered, at, origin, result, bytes);
    bulk_leave(win, entered);
}

/* ---- accumulate ---- */

/* Everything an operation needs, found before anything is touched. */
struct work {
    const struct reduction_function *function;
    const struct typemap *map; /* of the target */
    char *at;                  /* in the target's window */
    size_t bytes;              /* of data, elements with their holes */
    const char *origin;        /* contiguous; `origin_copy` if it had to be made */
    char *result;
    char *origin_copy, *result_copy;
};

static bool is_plain(const struct typemap *map)
{
    return map->contiguous && !map->without_holes;
}

/* Of elements of the target's kind, without holes or with them, by what the operation does. */
static const struct typemap *map_for(const struct reduction_function *c, const struct typemap *map)
{
    return c->op == OP_REPLACE || c->op == OP_NO_OP ? typemap_to_move(map) : map;
}

static bool same_elements(const struct typemap *map, const struct typemap *element)
{
    return !map->size ||
           (map->prim == element->prim && (map->prim != PRIM_OTHER || map->base == element->base));
}

static enum win_error prepare_origin(struct work *w, struct buffer origin)
{
    const struct typemap *map = map_for(w->function, origin.map);
    size_t bytes;
    if (__builtin_mul_overflow(map->size, origin.count, &bytes) || bytes > w->bytes)
        return WIN_ERR_LENGTH;
    w->bytes = bytes; /* the target may offer more than it is sent */
    w->origin = origin.at;
    if (map->contiguous)
        return WIN_OK;
    w->origin = w->origin_copy = malloc(bytes ? bytes : 1);
    if (!w->origin_copy)
        return WIN_ERR_MEMORY;
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, bytes);
    typemap_copy(w->origin_copy, &plain, origin.at, map, bytes);
    return WIN_OK;
}

static enum win_error prepare_result(struct work *w, struct buffer result)
{
    size_t room;
    if (__builtin_mul_overflow(map_for(w->function, result.map)->size, result.count, &room) ||
        w->bytes > room)
        return WIN_ERR_LENGTH;
    w->result = result.at;
    if (is_plain(result.map))
        return WIN_OK;
    w->result = w->result_copy = malloc(w->bytes ? w->bytes : 1);
    return w->result_copy ? WIN_OK : WIN_ERR_MEMORY;
}

/* The result's copy to where it belongs, leaving holes alone. */
static void deliver_result(struct work *w, const struct typemap *element, struct buffer result)
{
    if (!w->result_copy)
        return;
    if (map_for(w->function, element) == element && element->without_holes) {
        /* elements with their holes */
        size_t bytes = w->bytes / element->element * element->without_holes->size;
        typemap_copy(result.at, typemap_to_move(result.map), w->result_copy, element->without_holes,
                     bytes);
        return;
    }
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, w->bytes);
    typemap_copy(result.at, typemap_to_move(result.map), w->result_copy, &plain, w->bytes);
}

static void work_in_bulk(struct win *win, struct work *w, int target)
{
    struct run run;
    struct typemap plain = typemap_of_bytes(&run, w->bytes);
    struct bulk bulk = {.function = w->function,
                        .entered = bulk_enter(win, &win->peer[target]),
                        .stage = w->origin ? (char *)w->origin : w->result,
                        .origin = w->origin,
                        .result = w->result};
    typemap_walk(w->at, w->map, bulk.stage, &plain, w->bytes, bulk_piece, &bulk);
    bulk_leave(win, bulk.entered);
}

enum win_error win_accumulate(struct win *win, const struct reduction_function *c,
                              const struct typemap *element, struct buffer origin,
                              struct buffer result, int target, int64_t disp, struct buffer there)
{
    struct work w = {.function = c, .map = map_for(c, there.map)};
    bool fetch = result.map, use = c->op != OP_NO_OP, moves = !use || c->op == OP_REPLACE;
    if (!moves && (!same_elements(there.map, element) || !same_elements(origin.map, element) ||
                   (fetch && !same_elements(result.map, element))))
        return WIN_ERR_TYPE;
    if (__builtin_mul_overflow(w.map->size, there.count, &w.bytes))
        return WIN_ERR_LENGTH;
    enum win_error error = use ? prepare_origin(&w, origin) : WIN_OK;
    if (!error && fetch)
        error = prepare_result(&w, result);
    if (!error)
        error = win_locate_data(win, target, disp, w.map, w.bytes, &w.at);
    if (!error && w.bytes && (use || fetch)) {
        if (w.map->contiguous)
            win_combine(win, thread_self(), c, (uint32_t)target, w.at, w.origin, w.result, w.bytes);
        else
            work_in_bulk(win, &w, target);
        deliver_result(&w, element, result);
    }
    free(w.origin_copy);
    free(w.result_copy);
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
    bool equal = !memcmp(at, compare, bytes);
    memmove(result, at, bytes);
    if (equal)
        memmove(at, origin, bytes);
    bulk_leave(win, entered);
}
