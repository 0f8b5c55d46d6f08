/* Children of a team: their offers through the ring of the parent, with ranks that are ahead, late
 * readers, parents that are freed early, and ranks that decline. */
#include "tests/unit/teams.h"

#include "coll_inplace/child.h"

/* Counts what the module allocates, and fails where the calling rank has no memory. */
static _Atomic int taken;
static __thread bool no_mailbox, no_ring;

static struct mailbox *take_mailbox(void)
{
    struct mailbox *mailbox = no_mailbox ? NULL : mailbox_create();
    taken += mailbox != NULL;
    return mailbox;
}

static void free_mailbox(struct mailbox *mailbox, uint32_t op)
{
    taken -= mailbox != NULL;
    mailbox_free(mailbox, op);
}

static void *take_ring(size_t size)
{
    void *at = no_ring ? NULL : arena_control_alloc(size);
    taken += at != NULL;
    return at;
}

/* A rank that still reads it finds other numbers. */
static void free_ring(void *at)
{
    taken--;
    memset(at, 0x77, CHILD_RING * sizeof(struct child_offer));
    arena_control_free(at);
}
/* The ranks are threads of one process, which has the limit for all of them. */
static unsigned limit = UINT32_MAX;
#define CHILD_UNUSED_MAX    limit
#define mailbox_create      take_mailbox
#define mailbox_free        free_mailbox
#define arena_control_alloc take_ring
#define arena_control_free  free_ring
#include "coll_inplace/child.c"
#undef mailbox_create
#undef mailbox_free
#undef arena_control_alloc
#undef arena_control_free
#undef CHILD_UNUSED_MAX

/* ---- helpers ---- */

/* The mailbox now belongs to the team, which is another module, and back. */
static struct team *settle_counted(struct child *child, uint32_t size, uint32_t rank)
{
    struct team *t = child_settle(child, size, rank);
    taken -= t != NULL;
    return t;
}

static void leave_unused(struct team *t)
{
    taken++;
    child_leave_unused(t, false);
}

static void check_team(struct team *t, unsigned rank, uint32_t mark)
{
    uint32_t root = mark % t->size, word = rank == root ? mark : 0;
    coll_bcast(t, buffer(&word, I32, 1), root);
    EXPECT(word == mark, "rank %u: %u, not %u", rank, word, mark);
    coll_barrier(t);
}

/* The ranks of the child: as in the parent, reversed, or all but rank 0. */
enum { SAME, REVERSED, PART, SHAPES };

static uint32_t rank_in(unsigned shape, uint32_t size, uint32_t rank)
{
    return shape == REVERSED ? size - 1 - rank : shape == PART ? rank - 1 : rank;
}

static struct team *settle(struct child *child, unsigned shape, uint32_t size, uint32_t rank)
{
    uint32_t ranks = shape == PART ? size - 1 : size;
    for (uint32_t r = 0; r < ranks && shape != SAME; r++)
        child_set_rank(child, r, shape == PART ? r + 1 : size - 1 - r);
    return settle_counted(child, ranks, rank_in(shape, size, rank));
}

static void leave(struct team *t)
{
    if (child_is_unused(t))
        leave_unused(t);
    else
        team_leave(t);
}

static void offer(struct team *parent)
{
    if (!child_is_offered(parent))
        child_offer(parent, false);
}

static struct child *create(struct team *parent)
{
    offer(parent);
    return child_create(parent);
}

/* ---- any order of events ---- */

enum { ALIVE = 18 };
struct life {
    struct child *child[ALIVE];
    struct team *team[ALIVE];
    unsigned shape[ALIVE];
};

/* What all ranks do with child `i`. A rank outside of it has neither child nor team. */
static void use(struct life *life, unsigned i, uint32_t size, uint32_t me, uint32_t mark)
{
    if (life->child[i])
        life->team[i] = settle(life->child[i], life->shape[i], size, me);
    life->child[i] = NULL;
    if (life->team[i])
        check_team(life->team[i], rank_in(life->shape[i], size, me), mark);
}

static void end(struct life *life, unsigned i)
{
    if (life->child[i])
        child_cancel(life->child[i]);
    if (life->team[i])
        leave(life->team[i]);
    life->child[i] = NULL;
    life->team[i] = NULL;
}

static void begin(struct life *life, unsigned i, struct team *parent, unsigned shape)
{
    life->child[i] = create(parent);
    EXPECT(life->child[i] || parent->size > 4); /* many ranks run out of memory, and decline */
    life->shape[i] = shape;
    if (shape == PART && parent->rank == 0 && life->child[i]) {
        child_cancel(life->child[i]);
        life->child[i] = NULL;
    }
}

static unsigned steps;

/* All ranks make the same calls, without any synchronisation besides that of the calls. */
static void live(unsigned me)
{
    struct chance same = {steps}, own = {me + 100 * steps};
    struct team *parent = team_of[me];
    struct life life = {0};
    for (unsigned i = 0; i < steps; i++) {
        unsigned which = below(&same, ALIVE), what = below(&same, 8);
        dawdle(&own);
        end(&life, which);
        begin(&life, which, parent, below(&same, SHAPES));
        if (what < 4)
            use(&life, below(&same, ALIVE), parent->size, me, i + 1);
        else if (what == 4)
            end(&life, below(&same, ALIVE));
        else if (what == 5)
            check_team(parent, me, i + 1);
        if (me == i % parent->size)
            offer(parent); /* of a call that the host refuses on one rank */
    }
    uint32_t size = parent->size;
    team_leave(parent);
    for (unsigned i = 0; i < ALIVE; i++)
        if (i % 3)
            use(&life, i, size, me, i + 7);
    for (unsigned i = 0; i < ALIVE; i++)
        end(&life, i);
}

START_TEST(children_agree_in_any_order_of_events)
{
    open_heap();
    sync_configure(true, NULL);
    for (unsigned i = 0; i < effort(60); i++) {
        unsigned size = 2 + i % 3 + (i % 10 == 9) * 8;
        steps = 1 + i * 7;
        make_team(size);
        as_ranks(size, live);
        team_reap();
        ck_assert_uint_eq(unused, 0);
    }
    ck_assert_int_eq(taken, 0);
}
END_TEST

/* ---- the ring ---- */

static _Atomic unsigned ahead;

static void run_ahead(unsigned me)
{
    enum { LAST = 3 * CHILD_RING };
    struct team *t = team_of[me];
    struct child *first = NULL;
    for (unsigned i = 0; i < LAST; i++) {
        if (me == 1 && i == 2) {
            while (ahead < CHILD_WINDOW + 2)
                sleep_us(100);
            sleep_us(3000);
            EXPECT(ahead == CHILD_WINDOW + 2, "%u", ahead);
        }
        struct child *child = create(t);
        if (i == 0)
            first = child;
        else
            child_cancel(child);
        if (me == 0)
            ahead = i + 1;
    }
    EXPECT(!first->parent);
    struct team *team = settle_counted(first, t->size, me);
    check_team(team, me, 9);
    leave(team);
}

/* Rank 1 has created two children. */
START_TEST(a_rank_is_ahead_by_the_window_at_most)
{
    open_heap();
    sync_configure(true, NULL);
    make_team(3);
    ahead = 0;
    as_ranks(3, run_ahead);
    free_team(3);
}
END_TEST

/* The children have numbers around the point where they wrap. */
static void wrap(unsigned me)
{
    struct team *t = team_of[me];
    for (unsigned i = 0; i < 100; i++) {
        struct child *child = create(t);
        struct team *team = i % 2 ? settle_counted(child, t->size, me) : NULL;
        if (team)
            check_team(team, me, i);
        if (team)
            leave(team);
        else
            child_cancel(child);
    }
}

START_TEST(numbers_wrap)
{
    open_heap();
    make_team(3);
    for (unsigned r = 0; r < 3; r++) {
        struct team *t = team_of[r];
        child_cancel(create(t));
        t->children_created = t->children_offered = t->children->all_offered = UINT32_MAX - 50;
        atomic_store(&t->mine->children_offered.value, UINT32_MAX - 50);
        for (unsigned i = 0; i < CHILD_RING; i++)
            atomic_store(&t->children->ring[i].end, UINT32_MAX - 50);
    }
    as_ranks(3, wrap);
    free_team(3);
}
END_TEST

/* ---- ranks that decline ---- */

enum { WITHOUT_RING, WITHOUT_MAILBOX, DECLINES };
static unsigned why;

/* Rank 1 declines some of the children; each rank that has made an offer finds that rank 1 has
 * declined. */
static void decline(unsigned me)
{
    struct team *t = team_of[me];
    for (unsigned i = 0; i < 50; i++) {
        bool declines = me == 1 && (why == WITHOUT_RING || i % 3 == 1);
        no_ring = declines && why == WITHOUT_RING;
        no_mailbox = declines && why == WITHOUT_MAILBOX;
        child_offer(t, declines && why == DECLINES);
        struct child *child = child_create(t);
        bool any = why == WITHOUT_RING || i % 3 == 1;
        EXPECT(!child == declines, "%u", i);
        bool cancels = i % 6 == 2; /* a freed child leaves memory, but the next child needs it */
        struct team *team = child && !cancels ? settle_counted(child, t->size, me) : NULL;
        EXPECT(!team == (any || cancels), "%u", i);
        if (team) {
            check_team(team, me, i);
            leave(team);
        } else if (child && cancels) {
            child_cancel(child);
        }
    }
    no_ring = no_mailbox = false;
}

START_TEST(one_rank_that_declines_prevents_the_team)
{
    open_heap();
    sync_configure(true, NULL);
    for (why = WITHOUT_RING; why <= DECLINES; why++) {
        make_team(3);
        as_ranks(3, decline);
        free_team(3);
        ck_assert_uint_eq(unused, 0);
    }
    ck_assert_int_eq(taken, 0);
}
END_TEST

START_TEST(unused_children_take_bounded_memory)
{
    enum { MANY = 1500 };
    static struct child *child[2][MANY];
    open_heap();
    make_team(2);
    limit = CHILD_UNUSED_MAX;
    unsigned with_memory = 0;
    for (unsigned i = 0; i < MANY; i++) {
        for (unsigned r = 0; r < 2; r++)
            child_offer(team_of[r], false);
        for (unsigned r = 0; r < 2; r++)
            with_memory += !!(child[r][i] = child_create(team_of[r]));
    }
    ck_assert_uint_eq(with_memory, CHILD_UNUSED_MAX);
    for (unsigned i = 0; i < MANY; i++)
        for (unsigned r = 0; r < 2; r++)
            if (child[r][i])
                child_cancel(child[r][i]);
    ck_assert_uint_eq(unused, 0);
    limit = UINT32_MAX;
    free_team(2);
    ck_assert_int_eq(taken, 0);
}
END_TEST

/* ---- children that are not used ---- */

/* One rank has read the offers and another not. Their memory is the next offer. */
START_TEST(an_unused_child_gives_its_memory_to_the_next)
{
    open_heap();
    make_team(2);
    struct child *child[2];
    uint64_t mailbox[2] = {0};
    for (unsigned i = 0; i < 3 * CHILD_RING; i++) {
        for (unsigned r = 0; r < 2; r++)
            child_offer(team_of[r], false);
        for (unsigned r = 0; r < 2; r++) {
            child[r] = child_create(team_of[r]);
            uint64_t own = node_offset(child[r]->mailbox);
            ck_assert(!mailbox[r] || mailbox[r] == own);
            mailbox[r] = own;
        }
        for (unsigned r = 0; r < 2; r++)
            child_cancel(child[r]);
    }
    for (unsigned r = 0; r < 2; r++)
        child_offer(team_of[r], false);
    for (unsigned r = 0; r < 2; r++)
        child[r] = child_create(team_of[r]);
    struct team *settled = settle_counted(child[0], 2, 0);
    ck_assert(settled && child_is_unused(settled));
    leave_unused(settled);
    child_cancel(child[1]);
    free_team(2);
    ck_assert_int_eq(taken, 0);
}
END_TEST

UNIT_MAIN(children_agree_in_any_order_of_events, a_rank_is_ahead_by_the_window_at_most,
          numbers_wrap, one_rank_that_declines_prevents_the_team,
          unused_children_take_bounded_memory, an_unused_child_gives_its_memory_to_the_next)
