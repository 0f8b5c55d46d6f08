/* A mailbox that another team used before is like a new one. */
#include "tests/unit/teams.h"

#include "coll_inplace/stream.h"

#include <string.h>
#include <unistd.h>

#include "tests/unit/taken.h"

/* Its allocations are counted. */
#include "coll_inplace/mailbox.c"

/* ---- teams that follow each other ---- */

enum { ROUNDS = 300, RANKS = 3, STREAM = STREAM_CELLS_LONG * STREAM_CELL };

static unsigned round_number, operations;

static unsigned char byte_of(unsigned operation, unsigned rank)
{
    return (unsigned char)(round_number * 31 + operation * 7 + rank + 1);
}

static bool is_all(const char *data, size_t bytes, unsigned char byte)
{
    return !bytes || ((unsigned char)data[0] == byte && !memcmp(data, data + 1, bytes - 1));
}

static void broadcast(struct team *t, unsigned operation, char *data, size_t bytes)
{
    uint32_t root = operation % t->size;
    if (t->rank == root)
        memset(data, byte_of(operation, root), bytes);
    coll_bcast(t, buffer(data, BYTES, bytes), root);
    EXPECT(is_all(data, bytes, byte_of(operation, root)), "round %u, %u", round_number, operation);
}

static void gather_all(struct team *t, unsigned operation, char *data, size_t bytes)
{
    char *all = data + bytes;
    memset(data, byte_of(operation, t->rank), bytes);
    struct blocks blocks = {.at = all, .map = BYTES, .count = bytes};
    coll_allgather(t, buffer(data, BYTES, bytes), &blocks, false);
    for (uint32_t r = 0; r < t->size; r++)
        EXPECT(is_all(all + r * bytes, bytes, byte_of(operation, r)), "round %u, %u", round_number,
               operation);
}

static void use_team(unsigned me)
{
    static char room[RANKS][(RANKS + 1) * STREAM];
    static const size_t sizes[] = {0, 8, SLOT_ROOM, 1000, TEAM_CELL, 3 * PIECE + 5, STREAM};
    struct chance same = {round_number}, own = {round_number * RANKS + me};
    for (unsigned i = 0; i < operations; i++) {
        size_t bytes = sizes[below(&same, 16) ? below(&same, 5) : 5 + below(&same, 2)];
        if (below(&same, 2))
            broadcast(team_of[me], i, room[me], bytes);
        else
            gather_all(team_of[me], i, room[me], bytes);
    }
    sleep_us(below(&own, 2) * below(&own, 300));
    team_leave(team_of[me]);
}

START_TEST(teams_follow_each_other)
{
    open_heap();
    sync_configure(true, NULL);
    struct chance c = {7};
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        unsigned size = 2 + below(&c, RANKS - 1);
        operations = below(&c, 4) ? below(&c, 12) : below(&c, 3 * TEAM_SLOTS);
        make_team(size);
        as_ranks(size, use_team);
        team_reap();
    }
}
END_TEST

/* ---- one mailbox ---- */

static void use(struct mailbox *mailbox, uint32_t op)
{
    for (uint32_t i = 0; i <= op; i++)
        atomic_store(&slot_of(&mailbox->ring, i)->op.value, i + 1);
    atomic_store(&mailbox->done.value, op);
    atomic_store(&mailbox->produced.value, 3);
    atomic_store(&mailbox->consumed.value, 3);
    atomic_store(&mailbox->coop_copy.helped.value, 3);
    atomic_store(&mailbox->departed, 2);
}

static void expect_new(struct mailbox *mailbox)
{
    for (uint32_t i = 0; i < TEAM_SLOTS; i++)
        ck_assert_uint_eq(sync_load(&slot_of(&mailbox->ring, i)->op), 0);
    ck_assert_uint_eq(sync_load(&mailbox->done), 0);
    ck_assert_uint_eq(sync_load(&mailbox->produced), 0);
    ck_assert_uint_eq(sync_load(&mailbox->consumed), 0);
    ck_assert_uint_eq(sync_load(&mailbox->coop_copy.helped), 0);
    ck_assert_uint_eq(mailbox->departed, 0);
    ck_assert_uint_eq(mailbox->stream_cells, STREAM_CELLS);
    ck_assert_uint_eq(mailbox->rings, 0);
    ck_assert_int_eq(mailbox->pid, getpid());
    memset(stream_cell(mailbox, STREAM_CELLS - 1), 1, STREAM_CELL);
    memset(cell_of(&mailbox->ring, TEAM_CELLS - 1), 1, CELL_ROOM);
}

START_TEST(a_mailbox_that_is_used_again_is_empty)
{
    static const uint32_t ops[] = {0, 1, 5, TEAM_SLOTS - 1, TEAM_SLOTS, 1000};
    open_heap();
    struct mailbox *first = mailbox_create();
    mailbox_free(first, 0);
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct mailbox *mailbox = mailbox_create();
        ck_assert_ptr_eq(mailbox, first);
        expect_new(mailbox);
        use(mailbox, ops[i]);
        if (i % 2)
            mailbox_lengthen_stream(mailbox);
        mailbox_free(mailbox, ops[i]);
    }
}
END_TEST

START_TEST(further_rings_are_freed)
{
    open_heap();
    struct mailbox *mailbox = mailbox_create();
    int before = taken;
    for (uint32_t i = 1; i < TEAM_RINGS; i++) {
        struct ring *ring = mailbox_add_ring(mailbox, 77);
        ck_assert_ptr_nonnull(ring);
        ck_assert_ptr_eq(mailbox_ring(mailbox, i), ring);
        mailbox->rings = i + 1;
        for (uint32_t op = 0; op < TEAM_SLOTS; op++)
            ck_assert_uint_eq(sync_load(&slot_of(ring, op)->op), 77);
        memset(cell_of(ring, 0), 1, TEAM_CELLS * CELL_ROOM);
    }
    ck_assert_ptr_null(mailbox_add_ring(mailbox, 77));
    ck_assert_int_eq(taken, before + TEAM_RINGS - 1);
    mailbox_free(mailbox, 1000);
    ck_assert_int_eq(taken, before);
    ck_assert_ptr_eq(mailbox_create(), mailbox);
    expect_new(mailbox);
    mailbox_free(mailbox, 1);
}
END_TEST

enum { MANY = 40, BLOCKS = 2 /* of a mailbox */ };
static struct mailbox *many[MANY];

static void create_many(void)
{
    open_heap();
    for (int i = 0; i < MANY; i++)
        ck_assert_ptr_nonnull(many[i] = mailbox_create());
}

/* Thousands of communicators leave no memory behind. */
START_TEST(few_mailboxes_of_many_pages_are_kept)
{
    create_many();
    ck_assert_int_eq(taken, BLOCKS * MANY);
    for (int i = 0; i < MANY; i++) {
        many[i]->cells_used = i % 2;
        mailbox_free(many[i], i % 2 ? 1 : TEAM_SLOTS);
    }
    ck_assert_int_eq(taken, BLOCKS * SPARE_WITH_CELLS);
}
END_TEST

/* A program that has many short-lived communicators at once gets the same memory again. */
START_TEST(mailboxes_of_one_page_are_kept)
{
    create_many();
    for (int i = 0; i < MANY; i++)
        mailbox_free(many[i], 5);
    ck_assert_int_eq(taken, BLOCKS * MANY);
    for (int i = 0; i < MANY; i++) {
        struct mailbox *mailbox = mailbox_create();
        ck_assert_ptr_eq(mailbox, many[MANY - 1 - i]);
        expect_new(mailbox);
    }
    ck_assert_int_eq(taken, BLOCKS * MANY);
    for (int i = 0; i < MANY; i++)
        mailbox_free(many[i], TEAM_SLOTS);
}
END_TEST

/* Pages remain that an earlier team has written. */
START_TEST(written_pages_are_remembered)
{
    create_many();
    for (int i = 0; i < SPARE_WITH_CELLS; i++)
        mailbox_free(many[i], TEAM_SLOTS);
    for (int i = 0; i < SPARE_WITH_CELLS; i++)
        many[i] = mailbox_create();
    for (int i = 0; i < MANY; i++)
        mailbox_free(many[i], i < SPARE_WITH_CELLS ? 1 : TEAM_SLOTS);
    ck_assert_int_eq(taken, BLOCKS * SPARE_WITH_CELLS);
}
END_TEST

/* Threads create and free communicators at the same time. */
static void make_and_free(unsigned me)
{
    struct chance c = {me};
    for (unsigned i = 1; i <= 2000; i++) {
        struct mailbox *mailbox = mailbox_create();
        EXPECT(mailbox && !mailbox->coop_copy.bytes, "rank %u, %u", me,
               i); /* the first access, which is not atomic */
        mailbox->coop_copy.bytes = i;
        atomic_store(&mailbox->departed, me + 1);
        atomic_store(&mailbox->done.value, i);
        dawdle(&c);
        EXPECT(mailbox->departed == me + 1 && sync_load(&mailbox->done) == i, "rank %u, %u", me, i);
        mailbox_free(mailbox, i);
    }
}

START_TEST(threads_never_get_the_same_mailbox)
{
    open_heap();
    as_ranks(SPARE_WITH_CELLS + 2, make_and_free);
}
END_TEST

UNIT_MAIN(teams_follow_each_other, a_mailbox_that_is_used_again_is_empty, further_rings_are_freed,
          few_mailboxes_of_many_pages_are_kept, mailboxes_of_one_page_are_kept,
          written_pages_are_remembered, threads_never_get_the_same_mailbox)
