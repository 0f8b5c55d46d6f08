/* The order of ranks by domain, and the trees that follow it. */
#include "coll_inplace/tree.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

enum { RANKS_MAX = 512 };

/* The domain in which rank r of n runs, on a made-up machine. */
typedef uint64_t place_fn(unsigned r, unsigned n);

static uint64_t together(unsigned r, unsigned n)
{
    (void)r, (void)n;
    return UINT64_C(0xffffffffffff);
}

static uint64_t alone(unsigned r, unsigned n)
{
    return UINT64_C(1) << 40 | (n - r);
}

static uint64_t in_two_blocks(unsigned r, unsigned n)
{
    return r >= n / 2;
}

static uint64_t in_eight_by_turns(unsigned r, unsigned n)
{
    (void)n;
    return r % 8 * 1000;
}

/* Most ranks in one domain, some in others, some in none. */
static uint64_t unevenly(unsigned r, unsigned n)
{
    struct chance c = {r * 31 + n};
    return below(&c, 3) ? 7 : below(&c, 4) ? below(&c, 20) : UINT64_C(0xffffffffffff);
}

static place_fn *const places[] = {together, alone, in_two_blocks, in_eight_by_turns, unevenly};
enum { PLACES = sizeof places / sizeof *places };
static const unsigned sizes[] = {1, 2, 9, 10, 17, 63, 64, 65, 128, 200, 256, RANKS_MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct order *make_order(unsigned n, place_fn *where)
{
    struct located ranks[RANKS_MAX];
    struct order *o = calloc(1, order_size(n));
    for (unsigned r = 0; r < n; r++) /* in any order */
        ranks[n - 1 - r] = (struct located){where(r, n), r};
    order_make(o, ranks, n);
    return o;
}

static unsigned levels(unsigned n)
{
    unsigned count = 0;
    for (unsigned step = 1; step < n; step *= TREE_RADIX)
        count++;
    return count;
}

/* ---- the order ---- */

START_TEST(ranks_are_ordered_by_domain_and_then_by_rank)
{
    for (unsigned s = 0; s < SIZES; s++)
        for (unsigned p = 0; p < PLACES; p++) {
            unsigned n = sizes[s];
            struct order *o = make_order(n, places[p]);
            ck_assert_uint_eq(o->start[0], 0);
            ck_assert_uint_eq(o->start[o->domains], n);
            for (unsigned at = 0; at < n; at++) {
                unsigned r = o->rank[at], d = o->domain[r];
                INSIST(r < n && o->place[r] == at, "place %u", at);
                INSIST(o->start[d] <= at && at < o->start[d + 1], "rank %u", r);
                if (!at)
                    continue;
                uint64_t here = places[p](r, n), before = places[p](o->rank[at - 1], n);
                INSIST(before < here || (before == here && o->rank[at - 1] < r), "place %u", at);
                INSIST((before == here) == (o->domain[o->rank[at - 1]] == d), "place %u", at);
            }
            free(o);
        }
}
END_TEST

START_TEST(units_are_as_small_as_possible)
{
    for (unsigned s = 0; s < SIZES; s++)
        for (unsigned p = 0; p < PLACES; p++) {
            struct order *o = make_order(sizes[s], places[p]);
            unsigned most = o->domains > ORDER_RADIX ? o->domains : ORDER_RADIX, less = 0;
            for (unsigned d = 0; d < o->domains; d++) {
                ck_assert_uint_eq(order_units_of(o, d),
                                  (order_ranks_of(o, d) + o->unit - 1) / o->unit);
                less += (order_ranks_of(o, d) * ORDER_RADIX + o->unit - 1) / o->unit;
            }
            ck_assert_uint_eq(o->first[o->domains], o->units);
            ck_assert_uint_le(o->units, most);
            ck_assert(o->unit == 1 || less > most);
            free(o);
        }
}
END_TEST

/* ---- the tree ---- */

struct crossings {
    unsigned edges, deepest, on_a_path;
};

static bool has_child(const struct order *o, unsigned rank, unsigned root, unsigned child)
{
    uint16_t children[TREE_CHILDREN_MAX];
    unsigned count = tree_children(o, rank, root, children), found = 0;
    for (unsigned i = 0; i < count; i++)
        found += children[i] == child;
    return found == 1;
}

/* Climbs from every rank to the root, and checks that parents and children agree. */
static struct crossings climb(const struct order *o, unsigned n, unsigned root)
{
    struct crossings found = {0};
    bool parent[RANKS_MAX] = {0};
    unsigned children = 0;
    for (unsigned r = 0; r < n; r++) {
        unsigned depth = 0, crossed = 0;
        for (unsigned at = r; at != root; depth++) {
            struct tree_node node = tree_node(o, at, root);
            INSIST(node.parent < n && depth < n, "rank %u of %u, root %u", r, n, root);
            INSIST(at != r || has_child(o, node.parent, root, r), "rank %u, root %u", r, root);
            parent[node.parent] = true;
            crossed += o->domain[at] != o->domain[node.parent];
            found.edges += at == r && o->domain[at] != o->domain[node.parent];
            at = node.parent;
        }
        found.deepest = depth > found.deepest ? depth : found.deepest;
        found.on_a_path = crossed > found.on_a_path ? crossed : found.on_a_path;
    }
    for (unsigned r = 0; r < n; r++) {
        uint16_t child[TREE_CHILDREN_MAX];
        children += tree_children(o, r, root, child);
        INSIST(r == root || tree_node(o, r, root).inner == parent[r], "rank %u of %u, root %u", r,
               n, root);
    }
    INSIST(children == n - 1, "%u children, root %u of %u", children, root, n);
    return found;
}

START_TEST(the_tree_reaches_every_rank_and_enters_each_unit_once)
{
    for (unsigned s = 0; s < SIZES; s++)
        for (unsigned p = 0; p < PLACES; p++) {
            unsigned n = sizes[s];
            struct order *o = make_order(n, places[p]);
            for (unsigned root = 0; root < n; root += 1 + n / 40) {
                struct crossings found = climb(o, n, root);
                ck_assert_uint_ge(found.edges, o->domains - 1);
                ck_assert_uint_le(found.edges, o->units - order_units_of(o, o->domain[root]));
                ck_assert_uint_le(found.on_a_path, levels(o->units));
                ck_assert_uint_le(found.deepest, levels(o->units) + levels(o->unit));
            }
            free(o);
        }
}
END_TEST

/* The crossings between domains of a tree in rank order. */
static unsigned crossings_by_rank(unsigned n, place_fn *where)
{
    unsigned crossed = 0;
    for (unsigned v = 1; v < n; v++)
        crossed += where(v, n) != where(tree_parent(v), n);
    return crossed;
}

START_TEST(rank_order_crosses_far_more_often)
{
    struct order *turns = make_order(128, in_eight_by_turns);
    ck_assert_uint_eq(climb(turns, 128, 5).edges, 7);
    ck_assert_uint_eq(crossings_by_rank(128, in_eight_by_turns), 112);
    free(turns);
}
END_TEST

/* Domains of equal size do not make the tree deeper. */
START_TEST(as_few_steps_as_without_domains)
{
    for (unsigned n = 16; n <= RANKS_MAX; n *= 2) {
        struct order *o = make_order(n, in_two_blocks), *turns = make_order(n, in_eight_by_turns);
        ck_assert_uint_eq(climb(o, n, 3).deepest, levels(n));
        ck_assert_uint_eq(climb(o, n, 3).on_a_path, 1);
        ck_assert_uint_eq(climb(turns, n, 3).deepest, levels(n));
        ck_assert_uint_eq(climb(turns, n, 3).on_a_path, 1);
        free(o);
        free(turns);
    }
}
END_TEST

START_TEST(without_domains_the_tree_follows_the_ranks)
{
    for (unsigned s = 0; s < SIZES; s++) {
        unsigned n = sizes[s];
        struct order *o = make_order(n, together);
        for (unsigned root = 0; root < n; root += 1 + n / 10)
            for (unsigned v = 1; v < n; v++)
                ck_assert_uint_eq(tree_node(o, (v + root) % n, root).parent,
                                  (tree_parent(v) + root) % n);
        free(o);
    }
}
END_TEST

START_TEST(parents_and_children_agree)
{
    for (uint32_t v = 0; v < RANKS_MAX; v++)
        for (uint32_t step = 1; step < RANKS_MAX && v % (step * TREE_RADIX) == 0;
             step *= TREE_RADIX)
            for (uint32_t j = 1; j < TREE_RADIX; j++)
                ck_assert_uint_eq(tree_parent(v + j * step), v);
}
END_TEST

UNIT_MAIN(ranks_are_ordered_by_domain_and_then_by_rank, units_are_as_small_as_possible,
          the_tree_reaches_every_rank_and_enters_each_unit_once, rank_order_crosses_far_more_often,
          as_few_steps_as_without_domains, without_domains_the_tree_follows_the_ranks,
          parents_and_children_agree)
