/* Processes that are not ranks of the job but connect to its socket get nothing (H8: two jobs, two
 * users, two versions on one node). */
#include "tests/unit/processes.h"

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

static void be_a_stranger(void)
{
    struct greeting g = own_greeting();
    char noise[sizeof g + 100];
    memset(noise, 0x55, sizeof noise);
    if (kind == OTHER_VERSION)
        g.version++;
    if (kind == OTHER_PROGRAM)
        g.magic++;
    await_count(&desk->entered, 1);
    struct sockaddr_un address;
    socklen_t length = name_of_the_job(&address);
    if (kind == OTHER_USER && setuid(65534))
        _exit(0);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT(!connect(fd, (struct sockaddr *)&address, length));
    if (kind == GONE)
        close(fd);
    else if (kind == SHORT)
        EXPECT(send(fd, &g, 5, MSG_NOSIGNAL) == 5);
    else if (kind == UNFINISHED)
        EXPECT(send(fd, &g, sizeof g - 1, MSG_NOSIGNAL) == sizeof g - 1);
    else if (kind == LONG_AND_WRONG)
        EXPECT(send(fd, noise, sizeof noise, MSG_NOSIGNAL) > 0);
    else if (kind != SILENT)
        EXPECT(send(fd, &g, sizeof g, MSG_NOSIGNAL) == sizeof g);
    atomic_fetch_add(&desk->entered, 1);
    if (kind != GONE) { /* it gets no offer, and no descriptor */
        char got[200];
        EXPECT(recv(fd, got, sizeof got, 0) <= 0);
    }
}

/* Rank 0 leads; then comes rank 1, a stranger; then the others. */
static void be_rank_or_stranger(unsigned rank)
{
    if (rank == 1) {
        be_a_stranger();
        return;
    }
    unsigned place = rank ? rank - 1 : 0;
    await_count(&desk->entered, rank);
    enter();
    meet(job_size);
    rendezvous_settle((int)place, (int)job_size);
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

/* Rank 1 fills the queue with connections and keeps them open. */
static void fill_the_queue(unsigned rank)
{
    if (rank == 1) {
        await_count(&desk->entered, 1);
        struct sockaddr_un address;
        socklen_t length = name_of_the_job(&address);
        for (int i = 0; i < 50; i++) {
            int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            if (connect(fd, (struct sockaddr *)&address, length))
                break;
        }
        atomic_fetch_add(&desk->entered, 1);
        await_count(&desk->step, 2);
        return;
    }
    await_count(&desk->entered, rank);
    enter();
    meet(2);
    rendezvous_settle(rank != 0, 2);
    expect_nothing(REASON_NO_LIBRARY);
    atomic_fetch_add(&desk->step, 1);
}

START_TEST(a_full_queue_delays_no_rank_for_ever)
{
    open_desk(2);
    run(fill_the_queue, 0, 2);
}
END_TEST

/* Another user has taken the name. */
static void find_an_impostor(unsigned rank)
{
    if (rank == 0) {
        struct sockaddr_un address;
        socklen_t length = name_of_the_job(&address);
        EXPECT(setuid(65534) == 0);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), peer;
        char got[200];
        EXPECT(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 10));
        atomic_fetch_add(&desk->entered, 1);
        for (int i = 0; i < 2 && (peer = accept(fd, NULL, NULL)) >= 0; i++)
            EXPECT(recv(peer, got, sizeof got, 0) <= 0, "the impostor was greeted");
        return;
    }
    await_count(&desk->entered, 1);
    enter();
    meet(2);
    rendezvous_settle((int)rank - 1, 2);
    expect_nothing(REASON_NO_LIBRARY);
}

START_TEST(a_leader_of_another_user_is_not_trusted)
{
    if (geteuid())
        return;
    open_desk(2);
    run(find_an_impostor, 0, 2);
}
END_TEST

/* ---- another version ---- */

/* Rank 0 acts as a leader whose offer or file is wrong in one field. */
static uint32_t wrong_field;

static void lead_wrongly(void)
{
    struct greeting greeting;
    char good = 1;
    enter();
    int peer;
    while ((peer = accept(rendezvous.listener, NULL, NULL)) < 0)
        sleep_us(100);
    EXPECT(recv(peer, &greeting, sizeof greeting, 0) == sizeof greeting);
    EXPECT(create_file(2, 2, &greeting));
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
    rendezvous_settle(1, 2);
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
          a_leader_of_another_user_is_not_trusted, an_offer_of_another_version_is_declined)
