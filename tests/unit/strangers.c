/* Processes that are not ranks of the job but connect to its socket get nothing (H8: two jobs, two
 * users, two versions on one node). */
#include "tests/unit/processes.h"

#include <poll.h>

/* ---- processes of no rank ---- */

enum stranger {
    SILENT,
    GONE,
    SHORT,
    UNFINISHED,
    LONG_AND_WRONG,
    OTHER_PROGRAM,
    OTHER_VERSION,
    OTHER_USER,
    STRANGERS
};
static enum stranger kind;

static bool become_user(void)
{
    return kind != OTHER_USER || !setuid(65534);
}

/* Connects to the place of rank 0 and to the call of rank 2, as the leader does. */
static void be_a_stranger(void)
{
    static const char *const what[] = {"place", "call"};
    struct leader_call call = {LAYOUT_MAGIC, LAYOUT_VERSION};
    char noise[sizeof call + 100];
    int fd[2];
    memset(noise, 0x55, sizeof noise);
    if (kind == OTHER_VERSION)
        call.version++;
    if (kind == OTHER_PROGRAM)
        call.magic++;
    await_count(&desk->entered, 2);
    struct sockaddr_un address[2];
    socklen_t length[2];
    for (unsigned i = 0; i < 2; i++)
        length[i] = name_of(&address[i], what[i], i);
    EXPECT(become_user());
    for (unsigned i = 0; i < 2; i++) {
        fd[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        EXPECT(!connect(fd[i], (struct sockaddr *)&address[i], length[i]));
        if (kind == GONE)
            close(fd[i]);
        else if (kind == SHORT)
            send(fd[i], &call, 5, MSG_NOSIGNAL);
        else if (kind == UNFINISHED)
            send(fd[i], &call, sizeof call - 1, MSG_NOSIGNAL);
        else if (kind == LONG_AND_WRONG)
            send(fd[i], noise, sizeof noise, MSG_NOSIGNAL);
        else if (kind != SILENT)
            send(fd[i], &call, sizeof call, MSG_NOSIGNAL);
    }
    atomic_fetch_add(&desk->entered, 1);
    for (unsigned i = 0; i < 2 && kind != GONE;
         i++) { /* it is not greeted, and gets no descriptor */
        char got[200];
        struct pollfd end = {.fd = fd[i], .events = POLLIN};
        EXPECT(poll(&end, 1, 10000) == 1);
        EXPECT(recv(fd[i], got, sizeof got, 0) <= 0);
    }
}

/* Ranks 0 and 2 take places 0 and 1; then comes rank 1, a stranger; then the others. */
static void be_rank_or_stranger(unsigned rank)
{
    if (rank == 1) {
        be_a_stranger();
        return;
    }
    unsigned number = rank ? rank - 1 : 0;
    await_count(&desk->entered, rank < 3 ? number : rank);
    enter();
    meet(job_size);
    settle(number, job_size);
    EXPECT(node.header && node.size == job_size);
    for (unsigned r = 0; r < job_size; r++)
        EXPECT(node_member_of((int)r) >= 0);
}

START_TEST(a_stranger_is_not_counted_and_gets_nothing)
{
    for (kind = SILENT; kind < STRANGERS; kind++) {
        if (kind == OTHER_USER && geteuid())
            continue;
        open_desk(3);
        run(be_rank_or_stranger, 0, 3);
    }
}
END_TEST

/* Rank 1 fills a queue of rank 0 or 2 with connections, and keeps them open. Rank 2 cannot connect
 * to the place of rank 0; it drops those to its own call. */
static const char *full_queue;

static void fill_the_queue(unsigned rank)
{
    bool is_place = !strcmp(full_queue, "place");
    if (rank == 1) {
        await_count(&desk->entered, is_place ? 1 : 2);
        struct sockaddr_un address;
        socklen_t length = name_of(&address, full_queue, !is_place);
        for (int i = 0; i < 50; i++) {
            int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            if (connect(fd, (struct sockaddr *)&address, length))
                break;
        }
        atomic_fetch_add(&desk->entered, 1);
        await_count(&desk->step, 2);
        return;
    }
    await_count(&desk->entered, rank && is_place ? 2 : rank / 2);
    enter();
    await_count(&desk->entered, 3);
    meet(2);
    settle(rank != 0, 2);
    if (is_place)
        expect_nothing(REASON_NO_LIBRARY);
    else
        EXPECT(node.header != NULL);
    atomic_fetch_add(&desk->step, 1);
}

START_TEST(a_full_queue_delays_no_rank_for_ever)
{
    static const char *const queues[] = {"place", "call"};
    for (unsigned i = 0; i < 2; i++) {
        full_queue = queues[i];
        open_desk(2);
        run(fill_the_queue, 0, 2);
    }
}
END_TEST

/* Another user has taken the leader's place or, with another job's leader, one behind it. */
static unsigned taken;

static void find_an_impostor(unsigned rank)
{
    if (rank == 0) {
        struct sockaddr_un address[2];
        socklen_t length[2];
        for (unsigned i = 0; i < 2; i++)
            length[i] = name_of(&address[i], i ? "call" : "place", taken);
        EXPECT(setuid(65534) == 0);
        for (unsigned i = 0; i < 2; i++) {
            int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
            EXPECT(!bind(fd, (struct sockaddr *)&address[i], length[i]) && !listen(fd, 10));
        }
        atomic_fetch_add(&desk->entered, 1);
        await_count(&desk->step, 2);
        return;
    }
    await_count(&desk->entered, 1);
    enter();
    meet(2);
    settle(rank - 1, 2);
    expect_nothing(REASON_NO_LIBRARY);
    atomic_fetch_add(&desk->step, 1);
}

START_TEST(a_place_of_another_user_is_not_trusted)
{
    if (geteuid())
        return;
    for (taken = 0; taken < 2; taken++) {
        open_desk(2);
        run(find_an_impostor, 0, 2);
    }
}
END_TEST

/* ---- another version ---- */

/* Rank 0 acts as a leader whose offer or file is wrong in one field. */
static uint32_t wrong_field;

static void lead_wrongly(void)
{
    struct greeting greeting;
    char good = 1;
    int peer;
    enter();
    await_count(&desk->entered, 2);
    EXPECT(places_call(1, &peer) == PLACE_CALLED);
    EXPECT(fd_message_receive(peer, &greeting, sizeof greeting, NULL, 0));
    rendezvous.file = node_create(2, 2, &greeting.needs);
    EXPECT(rendezvous.file >= 0);
    struct offer offer = {
        .magic = LAYOUT_MAGIC, .me = 1, .size = 2, .file_size = (size_t)(node.end - node.base)};
    switch (wrong_field) {
    case 0:
        node.header->version++;
        break;
    case 1:
        node.header->magic++;
        break;
    case 2:
        node.header->members++;
        break;
    case 3:
        node.header->slice_size += LAYOUT_PAGE;
        break;
    case 4:
        offer.magic++;
        break;
    default:
        offer.file_size += LAYOUT_PAGE;
    }
    EXPECT(fd_message_send(peer, &offer, sizeof offer, &rendezvous.file, 1));
    EXPECT(recv(peer, &good, 1, 0) <= 0 || !good, "a bad offer was accepted");
}

static void be_led_wrongly(unsigned rank)
{
    if (rank == 0) {
        lead_wrongly();
        return;
    }
    enter_in_order(rank);
    settle(1, 2);
    EXPECT(!node.header);
}

START_TEST(an_offer_of_another_version_is_declined)
{
    for (wrong_field = 0; wrong_field < 6; wrong_field++) {
        open_desk(2);
        run(be_led_wrongly, 0, 1);
    }
}
END_TEST

UNIT_MAIN(a_stranger_is_not_counted_and_gets_nothing, a_full_queue_delays_no_rank_for_ever,
          a_place_of_another_user_is_not_trusted, an_offer_of_another_version_is_declined)
