/* How the ranks of a job find each other: all of them, or some of them, or while some die. Whatever
 * happens, no rank hangs and all ranks of a job come to the same result. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define FD_MESSAGE_MAX 3 /* so that statics come in several messages */

/* What the OS may do, at a moment that the test chooses. */
static bool end_before_data;
static unsigned sends_kept, sends_refused; /* the next ones, and then those */
static unsigned files_refused;             /* the next ones that carry more than the node's file */
static int refusal = ENOBUFS;
static useconds_t after_send; /* what the sender waits */

/* No data is there; then the peer sends and closes; then the OS looks for the end. */
static ssize_t receive_end_first(int fd, struct msghdr *message, int flags)
{
    ssize_t received = recvmsg(fd, message, flags);
    struct pollfd peer = {.fd = fd};
    bool race = end_before_data && received < 0 && errno == EAGAIN;
    return race && poll(&peer, 1, 5000) > 0 ? 0 : received;
}

static bool carries_statics(const struct msghdr *message);

static ssize_t send_or_refuse(int fd, const struct msghdr *message, int flags)
{
    if ((sends_kept ? (sends_kept--, false) : sends_refused && sends_refused--) ||
        (files_refused && carries_statics(message) && files_refused--)) {
        errno = refusal;
        return -1;
    }
    ssize_t sent = sendmsg(fd, message, flags);
    usleep(after_send);
    return sent;
}

/* The OS cuts the queue of a listener to its limit (somaxconn): here, to one entry. */
static bool listens_late;
static void announce(void);

static int listen_with_limit(int fd, int queue)
{
    if (listens_late) {
        announce();
        usleep(50 * 1000);
    }
    return listen(fd, queue > 0 ? 0 : queue);
}

/* Or the OS has no more sockets. */
static unsigned sockets_left = ~0u;

static int socket_with_limit(int domain, int type, int protocol)
{
    if (!sockets_left) {
        errno = EMFILE;
        return -1;
    }
    sockets_left--;
    return socket(domain, type, protocol);
}

#define listen  listen_with_limit
#define socket  socket_with_limit
#define recvmsg receive_end_first
#define sendmsg send_or_refuse
#include "tests/unit/processes.h"

static void announce(void)
{
    atomic_fetch_add(&desk->entered, 1);
}

static bool carries_statics(const struct msghdr *message)
{
    size_t size = message->msg_iov->iov_len;
    return message->msg_controllen &&
           (size == sizeof(struct statics_message) || size == sizeof(struct greeting));
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* ---- all ranks ---- */

static void find_everyone(unsigned rank)
{
    unsigned before = open_files();
    enter();
    meet(job_size);
    settle(rank + 10, job_size + 20);
    EXPECT(node.header && node.size == job_size && node.me < job_size);
    EXPECT(open_files() == before + 1, "%u files open, not %u", open_files(), before + 1);
    EXPECT(node_member_of((int)rank + 10) == (int)node.me);
    EXPECT(node_member_of(9) == -1 && node_member_of((int)job_size + 10) == -1 &&
           node_member_of(-1) == -1 && node_member_of(1000000) == -1);
    uint64_t *mine = (uint64_t *)(node_slice(node.me) + node.slice_size) - 1;
    EXPECT(*mine == 0);
    *mine = 1000 + rank;
    meet(job_size);
    for (unsigned r = 0; r < job_size; r++) {
        int member = node_member_of((int)r + 10);
        EXPECT(member >= 0 &&
               ((uint64_t *)(node_slice((uint32_t)member) + node.slice_size))[-1] == 1000 + r);
    }
    EXPECT(node_member(node.me)->pid == getpid());
    EXPECT(node_shares(mine, 8) && !node_shares(&before, 4));
    meet(job_size);
}

START_TEST(all_ranks_of_a_job_share_memory)
{
    static const unsigned sizes[] = {1, 2, 3, 4, 9, 40};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        open_desk(sizes[i]);
        run(find_everyone, 0, sizes[i] - 1);
    }
}
END_TEST

/* ---- some ranks ---- */

static unsigned present;

static void miss_some(unsigned rank)
{
    unsigned before = open_files();
    enter();
    meet(present);
    settle(rank, job_size);
    expect_nothing(REASON_NO_LIBRARY);
    EXPECT(open_files() == before, "%u files open, not %u", open_files(), before);
}

START_TEST(where_some_ranks_are_missing_nothing_is_shared)
{
    for (unsigned missing = 1; missing < 4; missing++) {
        open_desk(4);
        present = 4 - missing;
        run(miss_some, missing, 3);
    }
}
END_TEST

static void come_late(unsigned rank)
{
    if (rank == 2)
        await_count(&desk->step, 2);
    enter();
    if (rank < 2)
        meet(2);
    settle(rank, job_size);
    atomic_fetch_add(&desk->step, 1);
    expect_nothing(REASON_NO_LIBRARY);
}

START_TEST(a_rank_that_comes_late_finds_no_leader)
{
    open_desk(3);
    run(come_late, 0, 2);
}
END_TEST

static void expect_unknown(unsigned rank)
{
    enter();
    settle(rank, 2);
    expect_nothing(REASON_UNKNOWN_NODE);
}

START_TEST(where_the_number_of_ranks_is_unknown_nothing_is_shared)
{
    open_desk(0);
    run(expect_unknown, 0, 1);
}
END_TEST

static void find_only_own_job(unsigned rank)
{
    struct job job = {.local_size = 2, .rank = -1};
    world = rank % 2;
    snprintf(job.key, sizeof job.key, "%s %u", desk->key, world);
    rendezvous_enter(&job);
    meet(4);
    settle(rank / 2, 2);
    EXPECT(node.header && node.size == 2);
    uint64_t *word = (uint64_t *)node_slice(0);
    if (node.me == 0)
        *word = 5 + rank % 2;
    meet(4);
    EXPECT(*word == 5 + rank % 2);
    meet(4);
}

START_TEST(two_jobs_do_not_meet)
{
    open_desk(2);
    run(find_only_own_job, 0, 3);
}
END_TEST

static void be_on_two_nodes(unsigned rank)
{
    config.node_size = 2;
    enter();
    meet(4);
    settle(rank, 4);
    EXPECT(node.header != NULL);
    for (unsigned r = 0; r < 4; r++)
        EXPECT((node_member_of((int)r) >= 0) == (r / 2 == rank / 2));
}

START_TEST(a_node_may_be_treated_as_several)
{
    open_desk(4);
    run(be_on_two_nodes, 0, 3);
}
END_TEST

static void have_other_settings(unsigned rank)
{
    config.node_size = rank == 1;
    enter_in_order(rank);
    meet(3);
    settle(rank, 3);
    expect_nothing(REASON_SETTINGS);
}

START_TEST(ranks_whose_settings_differ_share_nothing)
{
    open_desk(3);
    run(have_other_settings, 0, 2);
}
END_TEST

/* ---- other worlds ---- */

/* Ranks 0 and 1 are world 0, ranks 2 and 3 world 1, and both have the same key. */
static void be_of_two_worlds(unsigned rank)
{
    world = rank / 2;
    enter();
    meet(4);
    settle(rank % 2, 2);
    EXPECT(!node.header);
}

START_TEST(two_jobs_with_equal_keys_share_nothing)
{
    open_desk(2);
    run(be_of_two_worlds, 0, 3);
}
END_TEST

/* Ranks 0 and 3, of different worlds, have the first places. They do not wait for a message. */
static void be_behind_another_world(unsigned rank)
{
    static const unsigned order[] = {0, 2, 3, 1};
    world = rank / 2;
    await_count(&desk->entered, order[rank]);
    enter();
    meet(4);
    settle(rank % 2, 2);
    EXPECT(!node.header && !desk->message[world][own_world_rank]);
}

START_TEST(a_rank_too_many_is_noticed_before_messages_are_sent)
{
    open_desk(2);
    run(be_behind_another_world, 0, 3);
}
END_TEST

/* Each group consists of one rank of either world. */
static void be_with_another_world(unsigned rank)
{
    struct job job = {.local_size = 2, .rank = -1};
    world = rank / 2;
    snprintf(job.key, sizeof job.key, "%s %u", desk->key, (rank + world) % 2);
    rendezvous_enter(&job);
    meet(4);
    settle(rank % 2, 2);
    expect_nothing(REASON_OTHER_WORLD);
}

START_TEST(members_with_another_token_are_of_another_world)
{
    open_desk(2);
    run(be_with_another_world, 0, 3);
}
END_TEST

/* Threads of the last rank create communicators in another order. */
static void meet_elsewhere(unsigned rank)
{
    own_meeting = 1 + (rank == job_size - 1);
    enter_in_order(rank);
    meet(job_size);
    settle(rank, job_size);
    expect_nothing(REASON_MEETINGS);
    EXPECT(!desk->message[world][own_world_rank]);
}

START_TEST(ranks_that_meet_in_different_communicators_send_no_messages)
{
    open_desk(3);
    run(meet_elsewhere, 0, 2);
}
END_TEST

/* The other rank of either world runs without the library. */
static void be_alone_in_a_world(unsigned rank)
{
    world = rank;
    enter();
    meet(2);
    settle(rank, 2);
    expect_nothing(REASON_OTHER_WORLD);
}

START_TEST(parts_of_two_worlds_are_no_node)
{
    open_desk(2);
    run(be_alone_in_a_world, 0, 1);
}
END_TEST

static enum { EQUAL_RANKS, OTHER_SIZE, OTHER_RANK, MISTAKES } mistake;

static void be_mistaken(unsigned rank)
{
    bool wrong = rank == 1;
    struct job job = {.local_size = 3, .rank = (int)(mistake == OTHER_RANK && wrong ? 0 : rank)};
    snprintf(job.key, sizeof job.key, "%s", desk->key);
    await_count(&desk->entered, rank);
    rendezvous_enter(&job);
    announce();
    meet(3);
    if (mistake == EQUAL_RANKS && wrong)
        rendezvous.job.rank = 2;
    settle(mistake == EQUAL_RANKS && wrong ? 2 : rank, mistake == OTHER_SIZE && wrong ? 4 : 3);
    expect_nothing(REASON_OTHER_WORLD);
}

START_TEST(a_launcher_that_contradicts_the_host_is_not_believed)
{
    for (mistake = 0; mistake < MISTAKES; mistake++) {
        open_desk(3);
        run(be_mistaken, 0, 2);
    }
}
END_TEST

/* Rank 1 was started inside another rank, without a launcher. */
static void be_a_world_of_one(unsigned rank)
{
    enter_in_order(rank);
    meet(3);
    settle(rank == 1 ? 0 : rank / 2, rank == 1 ? 1 : 2);
    EXPECT((node.header != NULL) == (rank == 1));
    EXPECT(rank != 1 || node.size == 1);
    meet(3);
}

START_TEST(a_process_whose_world_is_itself_is_alone)
{
    open_desk(2);
    run(be_a_world_of_one, 0, 2);
}
END_TEST

/* ---- slow ranks ---- */

static void listen_late_or_join(unsigned rank)
{
    listens_late = rank == 0;
    enter_in_order(rank);
    meet(2);
    settle(rank, 2);
    EXPECT(node.header && node.size == 2);
}

START_TEST(a_leader_that_is_slow_to_listen_still_leads)
{
    open_desk(2);
    run(listen_late_or_join, 0, 1);
}
END_TEST

/* Rank 0, which leads, waits for an answer before there is one, and the OS reports the end first.
 */
static void report_end_first(unsigned rank)
{
    end_before_data = rank == 0;
    enter_in_order(rank);
    meet(job_size);
    if (rank)
        sleep_us(20 * 1000);
    settle(rank, job_size);
    EXPECT(node.header && node.size == job_size);
}

START_TEST(an_answer_is_received_even_if_the_os_reports_the_end_first)
{
    open_desk(3);
    run(report_end_first, 0, 2);
}
END_TEST

/* ---- ranks that die ---- */

static unsigned victim;

static void die_before_settling(unsigned rank)
{
    enter_in_order(rank);
    meet(job_size);
    if (rank == victim)
        _exit(0);
    sleep_us(3000);
    settle(rank, job_size);
    EXPECT(!node.header);
}

START_TEST(a_rank_that_dies_leaves_the_others_alive)
{
    for (victim = 0; victim < 5; victim++) { /* rank 0 leads */
        open_desk(5);
        run(die_before_settling, 0, 4);
    }
}
END_TEST

/* ---- static variables ---- */

static bool without_statics(unsigned rank)
{
    return rank == 1 && job_size > 2;
}

static size_t statics_size(unsigned rank)
{
    return (rank + 1) * (size_t)LAYOUT_PAGE / 2;
}

/* A file as node/statics.c creates it; its first and last words identify the rank. */
static uint64_t *want_statics(unsigned rank)
{
    if (without_statics(rank))
        return NULL;
    int file = memfd_create_sealed(statics_size(rank));
    uint64_t *statics = mmap(NULL, statics_size(rank), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT(statics != MAP_FAILED);
    statics[0] = statics[statics_size(rank) / 8 - 1] = 1000 + rank;
    rendezvous_want(0, file);
    return statics;
}

static uint64_t *statics_of(unsigned rank)
{
    char *slice = node_slice((uint32_t)node_member_of((int)rank));
    return (uint64_t *)(slice + layout_statics_at(node.header));
}

static void share_statics(unsigned rank)
{
    uint64_t *own = want_statics(rank);
    unsigned before = open_files();
    enter();
    meet(job_size);
    settle(rank, job_size);
    EXPECT(node.header && node.header->statics_shared);
    EXPECT(open_files() == before + 1, "%u files open, not %u", open_files(), before + 1);
    meet(job_size);
    for (unsigned r = 0; r < job_size; r++) {
        uint64_t *statics = statics_of(r), value = without_statics(r) ? 0 : 1000 + r;
        EXPECT(statics[0] == value && statics[statics_size(r) / 8 - 1] == value, "rank %u", r);
        statics[1 + rank] = 2000 + rank;
    }
    meet(job_size);
    for (unsigned r = 0; own && r < job_size; r++)
        EXPECT(own[1 + r] == 2000 + r, "what rank %u wrote", r);
    meet(job_size);
}

START_TEST(static_variables_of_all_members_are_shared)
{
    for (unsigned size = 1; size <= 9; size += size > 3 ? 5 : 1) {
        open_desk(size);
        run(share_statics, 0, size - 1);
    }
}
END_TEST

/* Rank 0 leads. One rank cannot send descriptors, for a while or at all, or cannot receive them. */
static enum { TOO_MANY_FOR_A_WHILE, TOO_MANY, REFUSED, NO_ROOM, NOT_SEALED, OBSTACLES } obstacle;
static unsigned disabled;

static void allow_descriptors(unsigned more)
{
    int next = open("/dev/null", O_RDONLY);
    struct rlimit limit = {(rlim_t)next + more, (rlim_t)next + more};
    close(next);
    EXPECT(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void be_disabled(void)
{
    switch (obstacle) {
    case TOO_MANY_FOR_A_WHILE:
        files_refused = 20;
        refusal = ETOOMANYREFS;
        break;
    case TOO_MANY:
        files_refused = UINT32_MAX;
        refusal = ETOOMANYREFS;
        break;
    case REFUSED:
        files_refused = UINT32_MAX;
        break;
    default:
        break;
    }
}

static void share_with_obstacles(unsigned rank)
{
    if (want_statics(rank) && rank == disabled && obstacle == NOT_SEALED) {
        int file = memfd_create("not sealed", 0);
        EXPECT(!ftruncate(file, (off_t)statics_size(rank)));
        rendezvous_want(0, file);
    }
    if (rank == disabled)
        be_disabled();
    enter_in_order(rank);
    /* The leader has room for its connections only, a member for the node's file,
     * and for two more descriptors when it has left its place. */
    if (rank == disabled && obstacle == NO_ROOM)
        allow_descriptors(rank ? 1 : job_size - 1);
    meet(job_size);
    settle(rank, job_size);
    bool shared = obstacle == TOO_MANY_FOR_A_WHILE && disabled == 0;
    EXPECT(node.header && node.size == job_size);
    EXPECT(node.header && node.header->statics_shared == shared, "obstacle %u of rank %u", obstacle,
           disabled);
}

START_TEST(static_variables_are_shared_by_all_members_or_none)
{
    for (obstacle = 0; obstacle < OBSTACLES; obstacle++)
        for (disabled = 0; disabled < 4; disabled += 3) {
            open_desk(4);
            run(share_with_obstacles, 0, 3);
        }
}
END_TEST

static void die_with_statics(unsigned rank)
{
    want_statics(rank);
    die_before_settling(rank);
}

START_TEST(a_rank_that_dies_with_static_variables_leaves_the_others_alive)
{
    for (victim = 0; victim < 3; victim++) {
        open_desk(3);
        run(die_with_statics, 0, 2);
    }
}
END_TEST

/* ---- limits ---- */

static unsigned unreached;

static void lead_without_sending(unsigned rank)
{
    sends_kept = rank == 0 ? job_size - 1 : 0; /* the calls */
    sends_refused = rank == 0 ? unreached : 0;
    enter_in_order(rank);
    meet(job_size);
    settle(rank, job_size);
    EXPECT(!node.header);
    EXPECT(rank || node.why_not == REASON_NO_SHARING, "%s", stats_reasons[node.why_not]);
}

START_TEST(a_leader_that_cannot_send_the_file_waits_for_no_answer)
{
    for (unreached = 1; unreached < 3; unreached++) {
        open_desk(3);
        run(lead_without_sending, 0, 2);
    }
}
END_TEST

/* The leader has a socket for its place and for some members; the last one is missing. */
static unsigned sockets;

static void lead_with_few_sockets(unsigned rank)
{
    if (rank == 0)
        sockets_left = sockets;
    enter_in_order(rank);
    if (rank == 0 && sockets > 1)
        sockets_left = sockets - 1;
    meet(job_size);
    if (rank)
        sleep_us(1000 * (rand() % 5));
    settle(rank, job_size);
    EXPECT(!node.header);
    EXPECT(rank || node.why_not == REASON_EXHAUSTED, "%s", stats_reasons[node.why_not]);
}

START_TEST(too_few_sockets_of_the_leader_have_their_own_reason)
{
    for (sockets = 0; sockets < 4; sockets++) {
        open_desk(4);
        run(lead_with_few_sockets, 0, 3);
    }
}
END_TEST

static void join_with_few_sockets(unsigned rank)
{
    if (rank == 1)
        sockets_left = sockets;
    enter_in_order(rank);
    meet(job_size);
    settle(rank, job_size);
    expect_nothing(rank == 1 ? REASON_EXHAUSTED : REASON_NO_LIBRARY);
}

START_TEST(too_few_sockets_of_a_member_have_their_own_reason)
{
    for (sockets = 0; sockets < 3; sockets++) {
        open_desk(3);
        run(join_with_few_sockets, 0, 2);
    }
}
END_TEST

/* The limit is such that the leader can call only one member at a time. */
static void lead_with_few_descriptors(unsigned rank)
{
    enter_in_order(rank);
    if (rank == 0) {
        allow_descriptors(1);
        after_send = 20 * 1000;
    }
    meet(job_size);
    settle(rank, job_size);
    expect_nothing(REASON_EXHAUSTED);
}

START_TEST(members_get_the_reason_if_the_leader_has_too_few_descriptors)
{
    open_desk(5);
    run(lead_with_few_descriptors, 0, 4);
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__) /* needs more address space than any limit for its shadow */
static size_t room;
static unsigned confined;

static void live_in_little_room(unsigned rank)
{
    if (rank == confined) {
        struct rlimit limit = {used_address_space() + room + 4096, RLIM_INFINITY};
        EXPECT(!setrlimit(RLIMIT_AS, &limit));
    }
    enter_in_order(rank);
    meet(2);
    settle(rank, 2);
    EXPECT((node.header != NULL) == (room > (size_t)100 << 20), "%zu MiB: %s", room >> 20,
           node.header ? "shared" : stats_reasons[node.why_not]);
    EXPECT(!node.header || (size_t)(node.end - node.base) <= room / 8, "most of it is ours");
    EXPECT(node.slice_size % LAYOUT_PAGE == 0);
}

/* QEMU's emulation of a processor ignores the limit. */
static bool address_space_can_be_limited(void)
{
    pid_t pid = fork();
    if (!pid) {
        struct rlimit limit = {used_address_space(), RLIM_INFINITY};
        setrlimit(RLIMIT_AS, &limit);
        _exit(mmap(NULL, (size_t)64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
              MAP_FAILED);
    }
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

START_TEST(little_address_space_of_one_rank_makes_a_small_file_or_none)
{
    SKIP_UNLESS(address_space_can_be_limited(), "the OS ignores RLIMIT_AS");
    for (confined = 0; confined < 2; confined++)
        for (room = (size_t)16 << 20; room <= (size_t)1 << 30; room *= 64) {
            open_desk(2);
            run(live_in_little_room, 0, 1);
        }
}
END_TEST
#define LIMITS , little_address_space_of_one_rank_makes_a_small_file_or_none
#else
#define LIMITS
#endif

/* ---- children ---- */

static bool is_unmapped(char *page)
{
    unsigned char there;
    return mincore(page, LAYOUT_PAGE, &there) && errno == ENOMEM;
}

/* QEMU's emulation of a processor ignores MADV_DONTFORK. */
static bool children_can_lack_pages(void)
{
    char *at = mmap(NULL, LAYOUT_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, LAYOUT_PAGE, MADV_DONTFORK);
    pid_t pid = fork();
    if (!pid)
        _exit(!is_unmapped(at));
    int status;
    bool lacks = waitpid(pid, &status, 0) == pid && status == 0;
    munmap(at, LAYOUT_PAGE);
    return lacks;
}

static void have_a_child(unsigned rank)
{
    enter();
    meet(2);
    settle(rank, 2);
    uint64_t *mine = (uint64_t *)node_slice(node.me), *kept = mine;
    char *peer = node_slice(1 - node.me);
    *mine = 1;
    meet(2);
    pid_t pid = fork();
    if (!pid) {
        bool good = !node.header && node.forked && node.why_not == REASON_FORKED && *kept == 1 &&
                    node_member_of(0) == -1 && !node_shares(kept, 8);
        good &= is_unmapped(peer);
        *kept = 2;
        _exit(!(good && *kept == 2));
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    meet(2);
    for (uint32_t m = 0; m < 2; m++)
        EXPECT(*(uint64_t *)node_slice(m) == 1, "a child wrote into what its parent shares");
    EXPECT(node.header && !node.forked);
    meet(2);
}

START_TEST(a_child_has_a_copy_of_its_own)
{
    SKIP_UNLESS(children_can_lack_pages(), "children inherit pages with MADV_DONTFORK");
    open_desk(2);
    run(have_a_child, 0, 1);
}
END_TEST

static void sleep_for_a_while(void)
{
    struct sync_word never = {0};
    struct sync_wait wait = SYNC_WAIT;
    for (int i = 0; i < 100; i++)
        sync_wait(&wait, &never, 0);
}

/* A rank that sleeps counts itself in this word. The child does not map it. */
static void sleep_without_the_shared_file(unsigned rank)
{
    enter();
    meet(2);
    settle(rank, 2);
    sync_configure(true, NULL);
    sync_set_host_mail(&node_member(node.me)->mail, &node.header->asleep);
    sleep_for_a_while();
    pid_t pid = fork();
    if (!pid) {
        sleep_for_a_while();
        _exit(0);
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0, "the child ended with %#x", status);
    node_unmap(REASON_NO_SHARING);
    sleep_for_a_while();
}

START_TEST(ranks_sleep_without_the_shared_file)
{
    open_desk(2);
    run(sleep_without_the_shared_file, 0, 1);
}
END_TEST

/* The program has closed the descriptor, and its number belongs to another file. */
static void have_a_child_without_a_descriptor(unsigned rank)
{
    enter();
    meet(2);
    settle(rank, 2);
    uint64_t *mine = (uint64_t *)node_slice(node.me);
    *mine = 1;
    int other = memfd_create("other", 0);
    EXPECT(!ftruncate(other, node.end - node.base));
    EXPECT(dup2(other, rendezvous.file) == rendezvous.file);
    pid_t pid = fork();
    if (!pid)
        _exit(!(node.forked && *mine == 1));
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
    meet(2);
}

START_TEST(a_child_does_not_map_another_file)
{
    open_desk(2);
    run(have_a_child_without_a_descriptor, 0, 1);
}
END_TEST

static void map_without_a_descriptor(unsigned rank)
{
    enter();
    meet(2);
    settle(rank, 2);
    char *at = mmap(NULL, LAYOUT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(node_map_alias(at, LAYOUT_PAGE, 0, true));
    node_unmap_alias(at);
    int other = memfd_create("other", 0);
    EXPECT(!ftruncate(other, node.end - node.base));
    EXPECT(dup2(other, rendezvous.file) == rendezvous.file);
    at = mmap(NULL, LAYOUT_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(!node_map_alias(at, LAYOUT_PAGE, 0, true), "another file is mapped");
    meet(2);
}

START_TEST(an_alias_is_not_of_another_file)
{
    open_desk(2);
    run(map_without_a_descriptor, 0, 1);
}
END_TEST

/* The size of the file for so many members. */
static size_t mapped_with(size_t limit, uint32_t members)
{
    const struct node_needs needs = {.heap = (size_t)64 << 30, .room = limit};
    int file = node_create(members, (int)members, &needs);
    size_t size = (size_t)(node.end - node.base);
    ck_assert_int_ge(file, 0);
    node_unmap(REASON_NONE);
    close(file);
    return size;
}

START_TEST(the_mappings_of_all_members_fit_into_a_limit)
{
    const size_t limit = (size_t)64 << 30, least = (size_t)32 << 20;
    for (uint32_t members = 1; members <= 32; members *= 2) {
        size_t one = mapped_with(limit, members);
        ck_assert_uint_le(one, limit / 8);
        ck_assert_uint_le(one * members, limit / 2);
        ck_assert_uint_ge(one, members > 4 ? limit / 4 / members : limit / 16);
    }
    ck_assert_uint_le(mapped_with(limit, 64), 64 * least);
    ck_assert_uint_ge(mapped_with(limit, 64), 64 * least / 2);
    ck_assert_uint_ge(mapped_with(SIZE_MAX / 2, 1), (size_t)64 << 30);
}
END_TEST

UNIT_MAIN(the_mappings_of_all_members_fit_into_a_limit, all_ranks_of_a_job_share_memory,
          where_some_ranks_are_missing_nothing_is_shared, a_rank_that_comes_late_finds_no_leader,
          where_the_number_of_ranks_is_unknown_nothing_is_shared, two_jobs_do_not_meet,
          two_jobs_with_equal_keys_share_nothing,
          a_rank_too_many_is_noticed_before_messages_are_sent,
          members_with_another_token_are_of_another_world, parts_of_two_worlds_are_no_node,
          ranks_that_meet_in_different_communicators_send_no_messages,
          a_launcher_that_contradicts_the_host_is_not_believed,
          a_process_whose_world_is_itself_is_alone,
          too_few_sockets_of_the_leader_have_their_own_reason,
          too_few_sockets_of_a_member_have_their_own_reason,
          members_get_the_reason_if_the_leader_has_too_few_descriptors,
          a_node_may_be_treated_as_several, a_leader_that_is_slow_to_listen_still_leads,
          an_answer_is_received_even_if_the_os_reports_the_end_first,
          a_rank_that_dies_leaves_the_others_alive,
          a_leader_that_cannot_send_the_file_waits_for_no_answer,
          static_variables_of_all_members_are_shared,
          static_variables_are_shared_by_all_members_or_none,
          a_rank_that_dies_with_static_variables_leaves_the_others_alive,
          ranks_whose_settings_differ_share_nothing, a_child_has_a_copy_of_its_own,
          ranks_sleep_without_the_shared_file, a_child_does_not_map_another_file,
          an_alias_is_not_of_another_file LIMITS)
