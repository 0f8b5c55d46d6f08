/* The tree over the ranks of a team. */
#include "coll_inplace/tree.h"
#include "tests/unit/unit.h"

enum { RANKS_MAX = 512 };

static unsigned levels(unsigned n)
{
    unsigned count = 0;
    for (unsigned step = 1; step < n; step *= TREE_RADIX)
        count++;
    return count;
}

/* Climbs from every rank to the root, and checks which ranks have children. */
static void climb(unsigned n, unsigned root)
{
    bool parent[RANKS_MAX] = {0};
    for (unsigned r = 0; r < n; r++) {
        unsigned depth = 0;
        for (unsigned at = r; at != root; depth++) {
            at = tree_node(n, at, root).parent;
            INSIST(at < n && depth < levels(n), "rank %u of %u, root %u", r, n, root);
            parent[at] = true;
        }
    }
    for (unsigned r = 0; r < n; r++)
        INSIST(r == root || tree_node(n, r, root).inner == parent[r], "rank %u of %u, root %u", r,
               n, root);
}

START_TEST(every_rank_reaches_the_root)
{
    static const unsigned sizes[] = {2, 9, 10, 17, 63, 64, 65, 128, 200, 256, RANKS_MAX};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned root = 0; root < sizes[s]; root += 1 + sizes[s] / 40)
            climb(sizes[s], root);
}
END_TEST

START_TEST(ranks_are_counted_from_the_root)
{
    for (unsigned n = 2; n < 100; n++)
        for (unsigned root = 0; root < n; root++)
            for (unsigned v = 1; v < n; v++)
                ck_assert_uint_eq(tree_node(n, (v + root) % n, root).parent,
                                  (tree_parent(v) + root) % n);
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

UNIT_MAIN(every_rank_reaches_the_root, ranks_are_counted_from_the_root, parents_and_children_agree)
