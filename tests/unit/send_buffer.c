/* The send buffer: the sender detects when all of a message has been read, whatever the pieces and
 * their order, and nothing but reads of the message counts. Blocks do not overlap. */
#include "tests/unit/receiver.h"
#include "tests/unit/windows.h"

#include "alloc/send_buffer.c"

#include <sched.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
enum { LONG = 100000 };

static void begin(size_t bytes)
{
    open_heap();
    process_vm_open();
    release();
    send_buffer_open(bytes);
    ck_assert_ptr_null(memory); /* no memory before the first message */
    struct send_block p = send_buffer_take(1);
    ck_assert_ptr_nonnull(p.at);
    send_buffer_give(&p);
    end_rest(0);
}

/* Copy as a receiver's host does. Returns the copy. */
static const char *fetch(const char *from, size_t bytes)
{
    static _Thread_local char here[LONG];
    receive_as_host(here, from, bytes);
    return here;
}

static struct send_block filled(size_t bytes, int with)
{
    struct send_block p = send_buffer_take(bytes);
    ck_assert_ptr_nonnull(p.at);
    memset(p.at, with, bytes);
    return p;
}

START_TEST(a_message_is_read_with_its_last_byte)
{
    static const size_t lengths[] = {1, 63, 4095, 4096, 4097, 8193, LONG};
    begin(MIB);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct send_block p = filled(lengths[i], (int)i);
        for (int again = 0; again < 3; again++) { /* a block may be sent any number of times */
            ck_assert(send_buffer_is_read(&p));
            send_buffer_sent(&p, lengths[i]);
            ck_assert(!send_buffer_is_read(&p));
            size_t half = lengths[i] / 2;
            if (half) { /* the end first */
                fetch(p.at + half, lengths[i] - half - 1);
                fetch(p.at, half);
                ck_assert(!send_buffer_is_read(&p));
            }
            fetch(p.at + lengths[i] - 1, 1);
            ck_assert(send_buffer_is_read(&p));
        }
        send_buffer_give(&p);
    }
    no_failures();
}
END_TEST

START_TEST(nothing_else_counts)
{
    char *before = NULL, *behind = NULL;
    begin(MIB);
    struct send_block first = filled(LONG, 1), p = filled(LONG, 2), last = filled(LONG, 3);
    send_buffer_sent(&p, LONG);
    before = arena_alloc(LONG, ARENA_GRAIN);
    behind = arena_alloc(LONG, ARENA_GRAIN);
    fetch(before, LONG);
    fetch(behind, LONG);
    fetch(memory, 100); /* the counters */
    fetch(memory - 1, 1);
    fetch(memory + length, 1);
    fetch(first.at, LONG);
    fetch(last.at, LONG);
    ck_assert(!send_buffer_is_read(&p));
    fetch(p.at, LONG);
    ck_assert(send_buffer_is_read(&p));
    arena_free(before);
    arena_free(behind);
    no_failures();
}
END_TEST

START_TEST(a_truncated_message_does_not_affect_the_next)
{
    begin(MIB);
    struct send_block p = filled(LONG, 1);
    send_buffer_sent(&p, LONG);
    fetch(p.at, LONG / 3); /* truncated */
    send_buffer_give(&p);
    end_rest(0);
    struct send_block next = filled(LONG, 2);
    ck_assert_ptr_eq(next.at, p.at);
    send_buffer_sent(&next, LONG);
    ck_assert(!send_buffer_is_read(&next));
    fetch(next.at, LONG);
    ck_assert(send_buffer_is_read(&next));
    no_failures();
}
END_TEST

START_TEST(a_block_just_read_is_reused_last)
{
    begin(MIB);
    struct send_block p = filled(LONG, 1);
    send_buffer_give(&p);
    for (size_t rest = LONG; rest + LONG <= REST_BYTES; rest += LONG) {
        struct send_block next = filled(LONG, 2);
        ck_assert_ptr_ne(next.at, p.at);
        send_buffer_give(&next);
    }
    int others = 0;
    for (struct send_block q; (q = send_buffer_take(LONG)).at && q.at != p.at;)
        others++; /* nothing is lost */
    ck_assert_int_ge(others, (int)(MIB / LONG));
}
END_TEST

/* The set of unused ranges is not even searched. */
START_TEST(blocks_of_one_length_are_reused_in_turn)
{
    enum { BLOCKS = REST_BLOCKS, LENGTH = 5 * PAGE, AGAIN = BLOCKS - REST_BYTES / LENGTH - 1 };
    struct send_block p[BLOCKS];
    begin(2 * MIB);
    for (int i = 0; i < BLOCKS; i++)
        p[i] = filled(LENGTH, i);
    char *was = unused.root->start;
    size_t size = unused.root->size;
    for (int i = 0; i < BLOCKS; i++)
        send_buffer_give(&p[BLOCKS - 1 - i]);
    for (int i = 0; i < AGAIN; i++)
        ck_assert_ptr_eq(send_buffer_take(LENGTH).at, p[BLOCKS - 1 - i].at);
    ck_assert(!unused.root->left && !unused.root->right);
    ck_assert_ptr_eq(unused.root->start, was);
    ck_assert_uint_eq(unused.root->size, size);
    ck_assert_ptr_eq(send_buffer_take(LENGTH).at, was); /* the others have not rested */
}
END_TEST

START_TEST(blocks_do_not_overlap_and_come_back)
{
    enum { MOST = 4096 };
    static struct send_block p[MOST];
    struct chance chance = {.state = 7};
    begin(MIB);
    for (int round = 0; round < 20; round++) {
        int count = 0;
        size_t sum = 0;
        while (count < MOST && (p[count] = send_buffer_take(1 + any(&chance) % 50000)).at) {
            memset(p[count].at, count, p[count].size);
            sum += p[count++].size;
        }
        ck_assert_int_gt(count, 20);
        ck_assert_uint_ge(sum, MIB);
        for (int i = 0; i < count; i++)
            for (size_t b = 0; b < p[i].size; b += 64)
                INSIST(p[i].at[b] == (char)i, "block %d of %d, byte %zu", i, count, b);
        for (int i = 0; i < count; i++) /* in another order */
            send_buffer_give(&p[count - 1 - i]);
        ck_assert(is_idle());
    }
    ck_assert_ptr_null(send_buffer_take(length).at);
    ck_assert_ptr_null(send_buffer_take(SIZE_MAX).at);
}
END_TEST

START_TEST(it_has_the_requested_room_and_is_kept)
{
    begin(MIB);
    char *was = memory;
    send_buffer_open(MIB / 2); /* less */
    struct send_block p = filled(LONG, 1);
    ck_assert_ptr_eq(memory, was);
    send_buffer_open(8 * MIB); /* more, but something is on its way */
    struct send_block q = filled(LONG, 2);
    ck_assert_ptr_eq(memory, was);
    send_buffer_give(&p);
    send_buffer_give(&q);
    p = filled(8 * MIB, 1);
    send_buffer_give(&p);
    send_buffer_close();
    ck_assert_uint_ge(arena_use().live, 8 * MIB); /* ready for the next time */
    send_buffer_open(40 * MIB);
    p = filled(LONG, 1);
    send_buffer_give(&p);
    send_buffer_close(); /* too much to keep */
    ck_assert_uint_eq(arena_use().live, 0);
    ck_assert_ptr_null(send_buffer_take(1).at);
    ck_assert_uint_eq(node_member(node.me)->send_buffer, 0);
    send_buffer_open((size_t)1 << 50); /* no such memory */
    ck_assert_ptr_null(send_buffer_take(1).at);
}
END_TEST

/* ---- receivers at the same time ---- */

enum { READERS = 4, MESSAGES = 64, HALF = 5000 };
static struct send_block sent_now[MESSAGES];
static _Atomic unsigned next_message, published;

static void *receive(void *nothing)
{
    for (;;) {
        unsigned i = atomic_fetch_add(&next_message, 1);
        if (i >= effort(200) * MESSAGES)
            return nothing;
        while (atomic_load(&published) <= i)
            sched_yield();
        const char *at = sent_now[i % MESSAGES].at;
        for (int half = 0; half < 2; half++) {
            const char *here = fetch(at + half * HALF, HALF);
            EXPECT(here[0] == (char)i && here[HALF - 1] == (char)i, "message %u", i);
        }
    }
}

START_TEST(a_block_that_is_read_may_be_overwritten)
{
    pthread_t threads[READERS];
    begin(2 * MIB);
    for (int i = 0; i < READERS; i++)
        pthread_create(&threads[i], NULL, receive, NULL);
    for (unsigned i = 0; i < effort(200) * MESSAGES; i++) {
        struct send_block *p = &sent_now[i % MESSAGES];
        if (!p->at)
            *p = send_buffer_take(2 * HALF);
        while (!send_buffer_is_read(p))
            sched_yield();
        memset(p->at, (int)i, 2 * HALF);
        send_buffer_sent(p, 2 * HALF);
        atomic_store(&published, i + 1);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    no_failures();
}
END_TEST

UNIT_MAIN(a_message_is_read_with_its_last_byte, nothing_else_counts,
          a_truncated_message_does_not_affect_the_next, a_block_just_read_is_reused_last,
          blocks_of_one_length_are_reused_in_turn, blocks_do_not_overlap_and_come_back,
          it_has_the_requested_room_and_is_kept, a_block_that_is_read_may_be_overwritten)
