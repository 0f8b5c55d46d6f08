#include "alloc/rendezvous.h"

#include "alloc/fd_message.h"
#include "alloc/memfd.h"
#include "alloc/node.h"
#include "alloc/peer_memory.h"
#include "core/config.h"
#include "core/copy_policy.h"
#include "core/log.h"
#include "core/os_number.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const size_t file_size_max = (size_t)1 << 45; /* of the 47 bits of an address */
static const size_t slice_size_min = (size_t)16 << 20;
static const size_t control_size_max = (size_t)1 << 30;
static const uint64_t peer_patience_ns =
    UINT64_C(2000000000); /* a peer may have lost its processor */

struct greeting {
    uint64_t magic;
    uint64_t version;   /* 64 bits: padding would send bytes that were never set */
    uint64_t heap;      /* most that it will use */
    uint64_t symmetric; /* the same for the symmetric heap */
    uint64_t statics;   /* the size of the file with its static variables, which comes with this */
    uint64_t room;      /* address space that it has left */
    uint64_t settings;
};
enum { SETTINGS_DIFFER = -1 };
#define STATICS_MISSING SIZE_MAX /* of some member: more than there is ever room for */

struct offer {
    uint64_t magic;
    uint32_t me; /* the receiver's number among the members */
    uint32_t size;
    uint64_t file_size; /* 0: nothing is shared, and no descriptor comes with the offer */
    uint32_t why_not;   /* then: enum reason */
    uint32_t statics;   /* files with statics that follow */
};

/* Comes with one descriptor for each of these members. */
struct statics_message {
    uint32_t count;
    uint32_t member[FD_MESSAGE_MAX];
};

enum answer { ANSWER_NOTHING, ANSWER_FILE, ANSWER_FILE_AND_STATICS };

static struct {
    struct job job;
    int listener; /* the leader's */
    int leader;   /* a member's connection to the leader */
    int file;     /* the node's */
    int reserved; /* the number that its descriptor gets */
    size_t symmetric;
    int statics_file;
} rendezvous = {.listener = -1, .leader = -1, .file = -1, .reserved = -1, .statics_file = -1};

/* Ranks with different values would decide differently which windows and collectives are fast (H13:
 * decisions are equal on all ranks). */
static uint64_t common_settings(void)
{
    return (uint64_t)config.node_size << 2 | (uint64_t)config.coll << 1 | config.rma;
}

static size_t physical_memory(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t used_address_space(void)
{
    return os_number("/proc/self/statm") * (size_t)sysconf(_SC_PAGESIZE);
}

static size_t address_space_left(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    size_t used = used_address_space();
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

void rendezvous_want(size_t symmetric, int statics_file)
{
    rendezvous.symmetric = symmetric;
    rendezvous.statics_file = statics_file;
}

static struct greeting own_greeting(void)
{
    size_t heap = config.heap_size ? config.heap_size : physical_memory();
    return (struct greeting){.magic = LAYOUT_MAGIC,
                             .version = LAYOUT_VERSION,
                             .heap = heap,
                             .symmetric = rendezvous.symmetric ? rendezvous.symmetric : heap,
                             .statics = memfd_sealed_size(rendezvous.statics_file),
                             .room = address_space_left(),
                             .settings = common_settings()};
}

/* FNV-1a: the key may be longer than a socket's name. */
static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

static socklen_t socket_name(struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mpiaccel-%u-%016llx",
                 geteuid(), (unsigned long long)hash(rendezvous.job.key));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool same_user(int connection)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           peer.uid == geteuid();
}

/* With the descriptor of the statics, or without it if the OS refuses to take it. The leader then
 * finds that it is missing. */
static bool greet(int leader)
{
    struct greeting greeting = own_greeting();
    return (rendezvous.statics_file >= 0 &&
            fd_message_send(leader, &greeting, sizeof greeting, &rendezvous.statics_file, 1)) ||
           fd_message_send(leader, &greeting, sizeof greeting, NULL, 0);
}

/* Bind and lead, or connect and greet. False: try again. Either there is no listener, as between
 * the leader's bind and its listen, or after it has settled; then the name will soon be free. Or
 * there was no room in the queue, which only strangers can fill; a blocking connect would wait for
 * them. */
static bool lead_or_join(void)
{
    struct sockaddr_un address;
    socklen_t length = socket_name(&address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    if (!bind(fd, (struct sockaddr *)&address, length)) {
        listen(fd, (int)rendezvous.job.local_size);
        rendezvous.listener = fd;
        return true;
    }
    if (errno == EADDRINUSE && !connect(fd, (struct sockaddr *)&address, length) && same_user(fd) &&
        greet(fd)) {
        rendezvous.leader = fd;
        return true;
    }
    bool refused = errno == ECONNREFUSED || errno == EAGAIN;
    close(fd);
    return !refused;
}

/* Reserve a descriptor with a high number, out of the way of programs that count theirs. It has to
 * happen before the host starts threads: to grow the descriptor table of a process with several
 * threads takes the OS tens of milliseconds. */
static void reserve_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rendezvous.reserved = fcntl(fd, F_DUPFD_CLOEXEC, 500);
    close(fd);
}

static void move_to_reserved(int *fd)
{
    if (rendezvous.reserved >= 0 && dup3(*fd, rendezvous.reserved, O_CLOEXEC) >= 0) {
        close(*fd);
        *fd = rendezvous.reserved;
    }
}

void rendezvous_enter(const struct job *job)
{
    rendezvous.job = *job;
    reserve_descriptor();
    if (job->local_size < 2)
        return;
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    while (!lead_or_join() && sync_now_ns() - start < peer_patience_ns)
        sync_pause(&wait);
}

static void write_record(int world_rank)
{
    struct layout_member *me = node_member(node.me);
    me->world_rank = world_rank;
    me->pid = getpid();
    me->base = (uintptr_t)node.base;
    me->probe = peer_memory_probe(&me->probe_address);
    sched_getaffinity(0, sizeof me->cpus, (cpu_set_t *)me->cpus);
}

/* ---- the leader ---- */

/* By member; the leader has number 0. */
struct connection {
    int socket;  /* -1: none */
    int statics; /* the file with the member's static variables; -1: none */
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Combine a member's greeting with those of the others: the file must satisfy all of them. */
static void add_greeting(struct greeting *all, const struct greeting *g, int statics)
{
    bool has_statics = memfd_sealed_size(statics) == g->statics;
    all->heap = max_size(all->heap, g->heap);
    all->symmetric = max_size(all->symmetric, g->symmetric);
    all->statics = has_statics ? max_size(all->statics, g->statics) : STATICS_MISSING;
    all->room = min_size(all->room, g->room);
    if (g->settings != all->settings)
        all->settings = (uint64_t)SETTINGS_DIFFER;
}

/* Statics are shared by all members or by none. Returns whether descriptors have become free. */
static bool drop_statics(struct connection *members, uint32_t count, struct greeting *all)
{
    bool any = false;
    all->statics = STATICS_MISSING;
    for (uint32_t i = 1; i < count; i++) {
        any |= members[i].statics >= 0;
        fd_close(&members[i].statics);
    }
    return any;
}

/* Accept the connections of all members that have sent a good greeting. Returns how many members
 * there are, with the leader. If there are too few descriptors for connections and statics, the
 * statics are dropped; for the node's file there is the one of the listener. */
static uint32_t accept_all(struct connection *members, uint32_t expected, struct greeting *all)
{
    const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
    uint32_t count = 1;
    while (count < expected) {
        struct greeting g;
        struct connection c = {accept4(rendezvous.listener, NULL, NULL, flags), -1};
        if (c.socket < 0 && errno == EMFILE && drop_statics(members, count, all))
            continue;
        if (c.socket < 0)
            break;
        ssize_t size = fd_message_receive_now(c.socket, &g, sizeof g, &c.statics, 1);
        if (same_user(c.socket) && size == sizeof g && g.magic == LAYOUT_MAGIC &&
            g.version == LAYOUT_VERSION) {
            add_greeting(all, &g, c.statics);
            members[count++] = c;
        } else {
            fd_close(&c.socket);
            fd_close(&c.statics);
        }
    }
    return count;
}

/* Create the file for `size` members and fill in its header. */
static bool create_file(uint32_t size, int world_size, const struct greeting *all)
{
    /* Limited address space is mostly left to the program. */
    size_t header = layout_header_size(size);
    size_t most = min_size(min_size(all->room / 8, file_size_max), memfd_limit());
    most = most > header ? (most - header) / size : 0;
    /* A small limit on the heap is enforced by the arena: a slice also holds what windows share. */
    size_t heap = max_size(all->heap, slice_size_min);
    size_t arenas = round_up(min_size(heap, file_size_max), LAYOUT_PAGE) +
                    min_size(control_size_max, heap / 8) + LAYOUT_GAP;
    /* If room is short, the statics get what they need or nothing, and the symmetric heap a quarter
     * of the rest. */
    size_t spare =
        most > slice_size_min + layout_tail(0, 0) ? most - slice_size_min - layout_tail(0, 0) : 0;
    size_t statics = all->statics <= spare ? round_up(all->statics, LAYOUT_PAGE) : 0;
    spare -= min_size(spare, statics);
    size_t symmetric = round_up(min_size(all->symmetric, file_size_max), LAYOUT_PAGE);
    if (symmetric + arenas > spare)
        symmetric = round_down(min_size(symmetric, spare / 4), LAYOUT_PAGE);
    size_t tail = layout_tail(symmetric, statics);
    size_t slice = round_down(min_size(arenas + tail, most), LAYOUT_PAGE);
    if (slice < slice_size_min + tail) {
        log_message(2, "no room for a shared file; see `ulimit -v` and `ulimit -f`");
        return false;
    }
    size_t file_size = header + size * slice;
    rendezvous.file = memfd_create_sealed(file_size);
    if (rendezvous.file < 0 || !node_map(rendezvous.file, file_size, 0, size, world_size))
        return false;
    *node.header = (struct layout_header){
        .magic = LAYOUT_MAGIC,
        .version = LAYOUT_VERSION,
        .members = size,
        .slice_size = slice,
        .control_size = round_down(min_size(control_size_max, (slice - tail) / 8), LAYOUT_PAGE),
        .symmetric_size = symmetric,
        .statics_size = statics,
        .copy_policy = COPY_POLICY_DEFAULT,
    };
    return true;
}

/* Map all members' statics. Returns how many there are; 0 also if they cannot be shared. */
static uint32_t map_all_statics(const struct connection *members, uint32_t size)
{
    uint32_t count = 0;
    for (uint32_t i = 0; node.header->statics_size && i < size; i++) {
        if (members[i].statics < 0)
            continue;
        if (!node_map_statics(i, members[i].statics)) {
            log_message(2, "the static variables of member %u cannot be mapped: %m", i);
            return 0;
        }
        count++;
    }
    return count;
}

/* The OS limits the descriptors that are on their way between a user's processes (ETOOMANYREFS), so
 * wait until other members have received theirs. If that takes too long, and from then on, the
 * message goes without descriptors, and its receiver answers that it has not mapped them. */
static bool send_statics(int member, const struct statics_message *message, const int *files,
                         bool *with_files)
{
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    while (*with_files) {
        if (fd_message_send(member, message, sizeof *message, files, message->count))
            return true;
        *with_files = errno == ETOOMANYREFS && sync_now_ns() - start < peer_patience_ns;
        sync_pause(&wait);
    }
    return fd_message_send(member, message, sizeof *message, NULL, 0);
}

static bool send_all_statics(int member, const struct connection *members, uint32_t size,
                             uint32_t left, bool *with_files)
{
    for (uint32_t i = 0; left;) {
        struct statics_message message = {.count = 0};
        int files[FD_MESSAGE_MAX];
        for (; i < size && message.count < FD_MESSAGE_MAX; i++)
            if (members[i].statics >= 0) {
                files[message.count] = members[i].statics;
                message.member[message.count++] = i;
            }
        if (!send_statics(member, &message, files, with_files))
            return false;
        left -= message.count;
    }
    return true;
}

/* Send the offer, and the statics, to all members. A member that cannot be reached would never
 * answer, so its connection is closed. */
static void offer_to_all(struct connection *members, uint32_t size, bool shared,
                         enum reason why_not)
{
    struct offer offer = {.magic = LAYOUT_MAGIC, .size = size, .why_not = why_not};
    bool with_files = true;
    if (shared) {
        offer.file_size = (size_t)(node.end - node.base);
        offer.statics = map_all_statics(members, size);
    }
    for (uint32_t i = 1; i < size; i++) {
        int *member = &members[i].socket;
        offer.me = i;
        if (!fd_message_send(*member, &offer, sizeof offer, &rendezvous.file, shared) ||
            !send_all_statics(*member, members, size, offer.statics, &with_files)) {
            log_message(2, "the shared file cannot be sent to member %u: %m", i);
            fd_close(member);
        }
    }
    if (shared)
        node.header->statics_shared = offer.statics != 0;
}

/* Whether all members have mapped the file. Those that have not mapped all statics leave them
 * unshared. */
static bool all_answer(const struct connection *members, uint32_t size)
{
    bool all = true;
    for (uint32_t i = 1; i < size; i++) {
        char answer = ANSWER_NOTHING;
        if (members[i].socket < 0 || !fd_message_receive(members[i].socket, &answer, 1, NULL, 0))
            answer = ANSWER_NOTHING;
        if (answer == ANSWER_NOTHING) {
            log_message(2, "member %u has not mapped the shared file", i);
            all = false;
        } else if (answer == ANSWER_FILE) {
            log_message(2, "member %u has not mapped the static variables of all members", i);
            node.header->statics_shared = false;
        }
    }
    return all;
}

static void close_all(struct connection *members, uint32_t size)
{
    for (uint32_t i = 1; i < size; i++) {
        fd_close(&members[i].socket);
        fd_close(&members[i].statics);
    }
    free(members);
}

static void lead(int world_rank, int world_size)
{
    uint32_t expected = rendezvous.job.local_size, count = 1;
    struct connection *members = malloc(expected * sizeof *members);
    struct greeting all = own_greeting();
    if (members) {
        members[0] = (struct connection){-1, rendezvous.statics_file};
        if (rendezvous.listener >= 0)
            count = accept_all(members, expected, &all);
    }
    fd_close(&rendezvous.listener);
    bool complete = members && count == expected;
    bool alike = all.settings != (uint64_t)SETTINGS_DIFFER;
    bool shared = complete && alike && create_file(expected, world_size, &all);
    if (shared)
        write_record(world_rank);
    enum reason why_not = !complete ? REASON_NO_LIBRARY
                          : alike   ? REASON_NO_SHARING
                                    : REASON_SETTINGS;
    offer_to_all(members, count, shared, why_not);
    bool good = shared && all_answer(members, count);
    /* Releases what the header and the leader's record hold. */
    if (shared)
        sync_publish_ordered(&node.header->verdict, good ? LAYOUT_COMPLETE : LAYOUT_PARTIAL);
    close_all(members, count);
    if (!good)
        node_unmap(why_not);
}

/* ---- a member ---- */

static bool header_is_good(void)
{
    const struct layout_header *h = node.header;
    if (h->magic == LAYOUT_MAGIC && h->version == LAYOUT_VERSION && h->members == node.size &&
        layout_size(h) == (size_t)(node.end - node.base))
        return true;
    log_message(2, "the shared file was made by another version");
    return false;
}

/* Receive all messages with statics, even after a failure: if this process closed the connection
 * with messages unread, the leader would get an error instead of the answer. */
static enum answer receive_statics(uint32_t left)
{
    enum answer answer = ANSWER_FILE_AND_STATICS;
    while (left) {
        struct statics_message message = {0};
        int files[FD_MESSAGE_MAX];
        if (!fd_message_receive(rendezvous.leader, &message, sizeof message, files,
                                FD_MESSAGE_MAX) ||
            !message.count || message.count > min_size(left, FD_MESSAGE_MAX))
            return ANSWER_NOTHING;
        for (uint32_t i = 0; i < message.count; i++)
            if (message.member[i] >= node.size || files[i] < 0 ||
                !node_map_statics(message.member[i], files[i]))
                answer = ANSWER_FILE;
        for (uint32_t i = 0; i < FD_MESSAGE_MAX; i++)
            fd_close(&files[i]);
        left -= message.count;
    }
    if (answer == ANSWER_FILE)
        log_message(2, "static variables of other members cannot be mapped; see `ulimit -n`");
    return answer;
}

static bool receive_offer(struct offer *offer)
{
    bool received =
        fd_message_receive(rendezvous.leader, offer, sizeof *offer, &rendezvous.file, 1) &&
        offer->magic == LAYOUT_MAGIC;
    if (!received)
        log_message(2, "no offer has come from the leader of this node");
    else if (offer->file_size && rendezvous.file < 0)
        log_message(2, "the shared file has not come; see `ulimit -n`");
    return received;
}

static bool wait_for_verdict(void)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t verdict;
    while ((verdict = sync_load(&node.header->verdict)) == LAYOUT_OPEN)
        sync_wait(&wait, &node.header->verdict, LAYOUT_OPEN);
    return verdict == LAYOUT_COMPLETE;
}

static void join(int world_rank, int world_size)
{
    struct offer offer = {0};
    char answer = ANSWER_NOTHING;
    bool offered = receive_offer(&offer);
    enum reason why_not =
        offered && offer.why_not < REASON_COUNT ? offer.why_not : REASON_NO_LIBRARY;
    if (offered && offer.file_size && rendezvous.file >= 0 &&
        node_map(rendezvous.file, offer.file_size, offer.me, offer.size, world_size) &&
        header_is_good()) {
        write_record(world_rank);
        answer = (char)receive_statics(offer.statics);
    }
    if (offered)
        fd_message_send(rendezvous.leader, &answer, 1, NULL, 0);
    fd_close(&rendezvous.leader);
    if (answer == ANSWER_NOTHING || !wait_for_verdict())
        node_unmap(why_not);
}

/* ---- settling ---- */

void rendezvous_settle(int world_rank, int world_size)
{
    if (!rendezvous.job.local_size)
        node.why_not = REASON_UNKNOWN_NODE;
    else if (rendezvous.leader >= 0)
        join(world_rank, world_size);
    else
        lead(world_rank, world_size);
    if (!node.header) {
        fd_close(&rendezvous.file);
        fd_close(&rendezvous.reserved);
        log_message(1, "nothing is fast: %s; %s", stats_reasons[node.why_not],
                    stats_advice[node.why_not]);
        return;
    }
    move_to_reserved(&rendezvous.file);
    node_open(rendezvous.file);
    thread_offer_inflight(node_member(node.me)->inflight);
}
