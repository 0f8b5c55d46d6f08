#include "heap/blocks.h"

#include <assert.h>

/* ---- lists ---- */

static struct run_lists *lists_of(struct block_heap *b, enum run_kind kind)
{
    return &b->lists[kind == RUN_EMPTY];
}

/* Up to 7 pages each length has a class of its own. */
static unsigned run_class_of(uint32_t pages)
{
    if (pages < 8)
        return pages;
    unsigned e = 31 - (unsigned)__builtin_clz(pages);
    return 8 + (e - 3) * 4 + (pages >> (e - 2) & 3);
}

static void link_run(struct block_heap *b, uint32_t at)
{
    struct page_run *r = &b->run[at];
    struct run_lists *lists = lists_of(b, r->kind);
    unsigned class = run_class_of(r->pages);
    r->before = BLOCKS_NONE;
    r->after = lists->first[class];
    if (r->after != BLOCKS_NONE)
        b->run[r->after].before = at;
    lists->first[class] = at;
    lists->is_filled[class / 64] |= UINT64_C(1) << class % 64;
}

static void unlink_run(struct block_heap *b, uint32_t at)
{
    const struct page_run *r = &b->run[at];
    struct run_lists *lists = lists_of(b, r->kind);
    unsigned class = run_class_of(r->pages);
    if (r->after != BLOCKS_NONE)
        b->run[r->after].before = r->before;
    if (r->before != BLOCKS_NONE)
        b->run[r->before].after = r->after;
    else if ((lists->first[class] = r->after) == BLOCKS_NONE)
        lists->is_filled[class / 64] &= ~(UINT64_C(1) << class % 64);
}

/* The lowest class from this one on that has a run. RUN_CLASSES: none. */
static unsigned filled_class(const struct run_lists *lists, unsigned class)
{
    for (unsigned word = class / 64; word < RUN_CLASSES / 64; word++) {
        uint64_t bits = lists->is_filled[word];
        if (word == class / 64)
            bits &= ~UINT64_C(0) << class % 64;
        if (bits)
            return word * 64 + (unsigned)__builtin_ctzll(bits);
    }
    return RUN_CLASSES;
}

/* ---- runs ---- */

/* Describe a run. Entries inside it must be RUN_INSIDE. */
static void set_run(struct block_heap *b, uint32_t at, uint32_t pages, enum run_kind kind)
{
    uint32_t last = at + pages - 1;
    b->run[last] = (struct page_run){.pages = pages, .kind = (uint8_t)kind};
    b->run[at] = (struct page_run){.pages = pages, .kind = (uint8_t)kind, .is_first = true};
    if (kind == RUN_LIVE)
        b->live += pages;
    else
        link_run(b, at);
    if (kind == RUN_KEPT)
        b->kept += pages;
}

/* Forget a run, and return its length. Its entries are RUN_INSIDE afterwards. */
static uint32_t clear_run(struct block_heap *b, uint32_t at)
{
    uint32_t pages = b->run[at].pages;
    if (b->run[at].kind == RUN_LIVE)
        b->live -= pages - b->run[at].spare;
    else
        unlink_run(b, at);
    if (b->run[at].kind == RUN_KEPT)
        b->kept -= pages;
    b->run[at + pages - 1] = b->run[at] = (struct page_run){.kind = RUN_INSIDE};
    return pages;
}

/* Whether the entries describe runs without a gap. */
__attribute__((unused)) static bool valid(const struct block_heap *b)
{
    uint32_t at = 0;
    while (at < b->next) {
        const struct page_run *r = &b->run[at];
        if (!r->is_first || !r->pages || b->run[at + r->pages - 1].pages != r->pages ||
            b->run[at + r->pages - 1].kind != r->kind)
            return false;
        at += r->pages;
    }
    return at == b->next && b->next <= b->ready;
}

/* Add an unused run, joined with its neighbours. Empty pages at the end are as if never used. */
static void add_unused(struct block_heap *b, uint32_t at, uint32_t pages, enum run_kind kind)
{
    if (at && b->run[at - 1].kind == kind) {
        at -= b->run[at - 1].pages;
        pages += clear_run(b, at);
    }
    if (at + pages < b->next && b->run[at + pages].kind == kind)
        pages += clear_run(b, at + pages);
    if (kind == RUN_EMPTY && at + pages == b->next)
        b->next = at;
    else
        set_run(b, at, pages, kind);
}

/* ---- taking ---- */

/* The pages before the first aligned one. */
static uint32_t head_of(const struct block_heap *b, uint32_t at, uint32_t align)
{
    return (uint32_t)(-(b->base + at) & (align - 1));
}

static bool run_fits(const struct block_heap *b, uint32_t at, uint32_t pages, uint32_t align)
{
    uint32_t head = head_of(b, at, align);
    return head <= b->run[at].pages && b->run[at].pages - head >= pages;
}

/* Among the first LOOKS runs of a class, find the shortest that is long enough. BLOCKS_NONE: none
 * is. */
static uint32_t find_in_class(const struct block_heap *b, const struct run_lists *lists,
                              unsigned class, uint32_t pages, uint32_t align)
{
    enum { LOOKS = 8 };
    uint32_t best = BLOCKS_NONE, at = lists->first[class];
    for (int i = 0; i < LOOKS && at != BLOCKS_NONE; i++, at = b->run[at].after)
        if (run_fits(b, at, pages, align) &&
            (best == BLOCKS_NONE || b->run[at].pages < b->run[best].pages))
            best = at;
    return best;
}

/* An unused run that is long enough. BLOCKS_NONE: none. */
static uint32_t find(struct block_heap *b, enum run_kind kind, uint32_t pages, uint32_t align)
{
    const struct run_lists *lists = lists_of(b, kind);
    uint32_t at = find_in_class(b, lists, run_class_of(pages), pages, align);
    if (at != BLOCKS_NONE)
        return at;
    unsigned class = filled_class(lists, run_class_of(pages + (align - 1)) + 1);
    return class < RUN_CLASSES ? find_in_class(b, lists, class, pages, align) : BLOCKS_NONE;
}

/* Cut a block out of an unused run. */
static uint32_t cut(struct block_heap *b, uint32_t at, uint32_t pages, uint32_t align)
{
    enum run_kind kind = b->run[at].kind;
    uint32_t head = head_of(b, at, align);
    uint32_t tail = clear_run(b, at) - head - pages;
    if (head)
        set_run(b, at, head, kind);
    set_run(b, at + head, pages, RUN_LIVE);
    if (tail)
        set_run(b, at + head + pages, tail, kind);
    return at + head;
}

/* Take pages that were never used. */
static uint32_t take_new_run(struct block_heap *b, uint32_t pages, uint32_t align)
{
    uint32_t head = head_of(b, b->next, align);
    if (head > b->ready - b->next || pages > b->ready - b->next - head)
        return BLOCKS_NONE;
    uint32_t at = b->next + head;
    b->next = at + pages;
    set_run(b, at, pages, RUN_LIVE);
    if (head)
        add_unused(b, at - head, head, RUN_EMPTY);
    return at;
}

uint32_t blocks_take(struct block_heap *b, uint32_t pages, uint32_t align, bool *is_empty)
{
    uint32_t at = find(b, RUN_KEPT, pages, align);
    *is_empty = at == BLOCKS_NONE;
    if (*is_empty)
        at = find(b, RUN_EMPTY, pages, align);
    at = at == BLOCKS_NONE ? take_new_run(b, pages, align) : cut(b, at, pages, align);
    assert(valid(b));
    return at;
}

static uint32_t take_with_spare(struct block_heap *b, uint32_t pages, uint32_t spare)
{
    uint32_t at = find(b, RUN_EMPTY, pages + spare, 1);
    at = at == BLOCKS_NONE ? take_new_run(b, pages + spare, 1) : cut(b, at, pages + spare, 1);
    if (at == BLOCKS_NONE)
        return BLOCKS_NONE;
    b->run[at].spare = spare;
    b->live -= spare;
    return at;
}

uint32_t blocks_take_growing(struct block_heap *b, uint32_t pages, uint32_t spare, bool *is_empty)
{
    uint32_t at = find(b, RUN_KEPT, pages, 1);
    *is_empty = at == BLOCKS_NONE;
    at = *is_empty ? take_with_spare(b, pages, spare) : cut(b, at, pages, 1);
    assert(valid(b));
    return at;
}

uint32_t blocks_take_kept(struct block_heap *b)
{
    const struct run_lists *lists = lists_of(b, RUN_KEPT);
    for (unsigned word = RUN_CLASSES / 64; word-- > 0;)
        if (lists->is_filled[word]) {
            unsigned bit = 63 - (unsigned)__builtin_clzll(lists->is_filled[word]);
            uint32_t at = lists->first[word * 64 + bit];
            return cut(b, at, b->run[at].pages, 1);
        }
    return BLOCKS_NONE;
}

/* ---- giving back ---- */

uint32_t blocks_length(const struct block_heap *b, uint32_t at)
{
    bool is_block = at < b->next && b->run[at].is_first && b->run[at].kind == RUN_LIVE;
    return is_block ? b->run[at].pages - b->run[at].spare : 0;
}

/* Forget a block, and return its length. Its spare pages are an empty run afterwards. */
static uint32_t clear_block(struct block_heap *b, uint32_t at)
{
    uint32_t spare = b->run[at].spare, pages = clear_run(b, at) - spare;
    if (spare)
        add_unused(b, at + pages, spare, RUN_EMPTY);
    return pages;
}

void blocks_give(struct block_heap *b, uint32_t at, enum run_kind kind)
{
    uint32_t pages = clear_block(b, at);
    add_unused(b, at, pages, kind);
    assert(valid(b));
}

/* ---- resizing ---- */

static void shrink(struct block_heap *b, uint32_t at, uint32_t pages)
{
    uint32_t tail = clear_block(b, at) - pages;
    set_run(b, at, pages, RUN_LIVE);
    if (tail)
        add_unused(b, at + pages, tail, RUN_KEPT);
}

static void grow_into_spare(struct block_heap *b, uint32_t at, uint32_t pages)
{
    uint32_t more = pages - blocks_length(b, at);
    b->run[at].spare -= more;
    b->live += more;
}

/* Whether the pages behind a block, up to `more` of them, are unused, and then take them. */
static bool take_behind(struct block_heap *b, uint32_t end, uint32_t more)
{
    if (end == b->next) {
        if (more > b->ready - b->next)
            return false;
        b->next += more;
        return true;
    }
    enum run_kind kind = b->run[end].kind;
    if (kind == RUN_LIVE || b->run[end].pages < more)
        return false;
    uint32_t tail = clear_run(b, end) - more;
    if (tail)
        set_run(b, end + more, tail, kind);
    return true;
}

bool blocks_resize(struct block_heap *b, uint32_t at, uint32_t pages)
{
    uint32_t all = b->run[at].pages;
    uint16_t offset = b->run[at].offset;
    if (pages < blocks_length(b, at))
        shrink(b, at, pages);
    else if (pages <= all)
        grow_into_spare(b, at, pages);
    else if (!take_behind(b, at + all, pages - all))
        return false;
    else {
        clear_run(b, at);
        set_run(b, at, pages, RUN_LIVE);
    }
    b->run[at].offset = offset;
    assert(valid(b));
    return true;
}

/* ---- opening ---- */

void blocks_open(struct block_heap *b, struct page_run *run, size_t base)
{
    *b = (struct block_heap){.run = run, .base = base};
    for (size_t i = 0; i < 2 * RUN_CLASSES; i++)
        b->lists[i / RUN_CLASSES].first[i % RUN_CLASSES] = BLOCKS_NONE;
}
