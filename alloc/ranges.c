#include "alloc/ranges.h"

#include <assert.h>
#include <stdlib.h>

/* ---- structures ---- */

static bool prepare_node(struct ranges *r)
{
    if (r->spare)
        return true;
    r->spare = malloc(sizeof *r->spare);
    if (r->spare)
        r->spare->left = NULL;
    return r->spare;
}

/* Each bit of the result depends on all bits of the address (the last steps of MurmurHash3). */
static uint64_t priority_of(const char *address)
{
    uint64_t x = (uintptr_t)address;
    x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static struct range *take_node(struct ranges *r, char *start, size_t size)
{
    struct range *range = r->spare;
    r->spare = range->left;
    *range = (struct range){
        .start = start, .size = size, .largest = size, .priority = priority_of(start)};
    return range;
}

static void give_node(struct ranges *r, struct range *range)
{
    range->left = r->spare;
    r->spare = range;
}

/* ---- the tree ---- */

static size_t largest(const struct range *range)
{
    return range ? range->largest : 0;
}

/* Call when a subtree has changed. */
static void update(struct range *range)
{
    size_t below = largest(range->left), right = largest(range->right);
    below = below > right ? below : right;
    range->largest = range->size > below ? range->size : below;
}

/* Divide a tree into ranges before an address and ranges from it on. */
static void split_tree(struct range *tree, const char *address, struct range **before,
                       struct range **from)
{
    if (!tree) {
        *before = *from = NULL;
        return;
    }
    if (tree->start < address) {
        *before = tree;
        split_tree(tree->right, address, &tree->right, from);
    } else {
        *from = tree;
        split_tree(tree->left, address, before, &tree->left);
    }
    update(tree);
}

/* All ranges of `a` lie before those of `b`. */
static struct range *merge(struct range *a, struct range *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        a->right = merge(a->right, b);
        update(a);
        return a;
    }
    b->left = merge(a, b->left);
    update(b);
    return b;
}

static void insert(struct range **tree, struct range *range)
{
    if (*tree && (*tree)->priority > range->priority) {
        insert(range->start < (*tree)->start ? &(*tree)->left : &(*tree)->right, range);
    } else {
        split_tree(*tree, range->start, &range->left, &range->right);
        *tree = range;
    }
    update(*tree);
}

/* Remove a range from the tree. */
static void extract(struct range **tree, const struct range *range)
{
    struct range *before, *from, *only, *after;
    split_tree(*tree, range->start, &before, &from);
    split_tree(from, range->start + 1, &only, &after);
    assert(only == range);
    *tree = merge(before, after);
}

/* The last range that begins before an address; NULL: none. */
static struct range *last_before(struct range *tree, const char *address)
{
    struct range *last = NULL;
    while (tree) {
        bool before = tree->start < address;
        last = before ? tree : last;
        tree = before ? tree->right : tree->left;
    }
    return last;
}

/* The bytes before the first aligned address. */
static size_t head_of(const struct range *range, size_t align)
{
    return -(uintptr_t)range->start & (align - 1);
}

/* The lowest range that fits; NULL: none. */
static struct range *first_fit(struct range *tree, size_t size, size_t align)
{
    if (!tree || tree->largest < size)
        return NULL;
    struct range *found = first_fit(tree->left, size, align);
    if (found)
        return found;
    size_t head = head_of(tree, align);
    return head <= tree->size && tree->size - head >= size ? tree
                                                           : first_fit(tree->right, size, align);
}

/* ---- calls ---- */

/* Remove a range, and return its size. */
static size_t drop_range(struct ranges *r, struct range *range)
{
    size_t size = range->size;
    extract(&r->root, range);
    give_node(r, range);
    return size;
}

bool ranges_give(struct ranges *r, char *start, size_t size)
{
    if (!prepare_node(r))
        return false;
    struct range *before = last_before(r->root, start);
    assert(!before || before->start + before->size <= start);
    if (before && before->start + before->size == start) {
        start = before->start;
        size += drop_range(r, before);
    }
    struct range *next = last_before(r->root, start + size + 1);
    assert(!next || next->start + next->size < start || next->start == start + size);
    if (next && next->start == start + size)
        size += drop_range(r, next);
    insert(&r->root, take_node(r, start, size));
    return true;
}

char *ranges_take(struct ranges *r, size_t size, size_t align)
{
    if (!prepare_node(r)) /* what is left of a range may be two ranges */
        return NULL;
    struct range *range = first_fit(r->root, size, align);
    if (!range)
        return NULL;
    char *before = range->start;
    size_t head = head_of(range, align), tail = drop_range(r, range) - head - size;
    if (head)
        insert(&r->root, take_node(r, before, head));
    if (tail)
        insert(&r->root, take_node(r, before + head + size, tail));
    return before + head;
}

char *ranges_take_last(struct ranges *r, const char *end)
{
    struct range *last = r->root;
    while (last && last->right)
        last = last->right;
    if (!last || last->start + last->size != end)
        return NULL;
    char *start = last->start;
    drop_range(r, last);
    return start;
}

void ranges_clear(struct ranges *r)
{
    while (r->root)
        drop_range(r, r->root);
    for (struct range *range; (range = r->spare);) {
        r->spare = range->left;
        free(range);
    }
}
