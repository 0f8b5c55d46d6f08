#include "alloc/node.h"

#include "alloc/peer_memory.h"
#include "alloc/vm_copy.h"
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct node node = {.why_not = REASON_NOT_INITIALISED};

static const size_t most_in_all = (size_t)1 << 45; /* of the 47 bits of an address */
static const size_t least_slice = (size_t)16 << 20;
static const size_t most_control = (size_t)1 << 30;

/* members by world rank */
static struct {
    int count;
    int32_t *member;
} by_rank;

struct greeting {
    uint64_t magic;
    uint64_t version;            /* no padding, which would hold bytes that nobody set */
    uint64_t heap;               /* most it will take */
    uint64_t symmetric, statics; /* the same of those */
    uint64_t room;               /* address space it has left */
    uint64_t settings;
};
enum { SETTINGS_DIFFER = -1 };

struct offer {
    uint64_t magic;
    uint32_t me; /* the receiver's place */
    uint32_t size;
    uint64_t file_size; /* 0: nothing is shared, and no descriptor comes with it */
    uint32_t why_not;   /* then: enum reason */
};

static struct {
    struct job job;
    int listener; /* the leader's */
    int leader;   /* a member's connection to it */
    int file;     /* kept for fork */
    int reserved; /* where it shall be */
    size_t symmetric, statics;
} rendezvous = {.listener = -1, .leader = -1, .file = -1, .reserved = -1};

/* Which windows and collectives may be fast depends on these, so all ranks must have the same
 * (H13). */
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

/* A file may not become longer, and who tries gets a signal that ends the process. */
static size_t file_limit(void)
{
    struct rlimit limit;
    bool limited = !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY;
    return limited ? limit.rlim_cur : SIZE_MAX;
}

void node_want(size_t symmetric, size_t statics)
{
    rendezvous.symmetric = symmetric;
    rendezvous.statics = statics;
}

static struct greeting own_greeting(void)
{
    size_t heap = config.heap_size ? config.heap_size : physical_memory();
    return (struct greeting){.magic = LAYOUT_MAGIC,
                             .version = LAYOUT_VERSION,
                             .heap = heap,
                             .symmetric = rendezvous.symmetric ? rendezvous.symmetric : heap,
                             .statics = rendezvous.statics,
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

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Bind and lead, or connect and greet. False: refused, as happens between the leader's bind and
 * its listen, and after it has settled; then the name is free again soon. Or there was no room in
 * the queue: only strangers can fill it, and a connect that blocks would wait for them. */
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
    struct greeting greeting = own_greeting();
    if (errno == EADDRINUSE && !connect(fd, (struct sockaddr *)&address, length) && same_user(fd) &&
        send(fd, &greeting, sizeof greeting, MSG_NOSIGNAL) > 0) {
        rendezvous.leader = fd;
        return true;
    }
    bool refused = errno == ECONNREFUSED || errno == EAGAIN;
    close(fd);
    return !refused;
}

/* What the kernel does at once while the process has one thread, and in tens of milliseconds later:
 * making room for a descriptor that is out of the way of programs that count theirs. */
static void prepare_early(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    rendezvous.reserved = fcntl(fd, F_DUPFD_CLOEXEC, 500);
    close(fd);
}

static void move_up(int *fd)
{
    if (rendezvous.reserved >= 0 && dup3(*fd, rendezvous.reserved, O_CLOEXEC) >= 0) {
        close(*fd);
        *fd = rendezvous.reserved;
    }
}

void node_enter(const struct job *job)
{
    const uint64_t patience_ns = UINT64_C(2000000000); /* the leader may have lost its processor */
    rendezvous.job = *job;
    prepare_early();
    if (job->local_size < 2)
        return;
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    while (!lead_or_join() && sync_now_ns() - start < patience_ns)
        sync_pause(&wait);
}

/* Receive if something has come. */
static ssize_t receive_now(int connection, void *to, size_t size, int *file)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec data = {to, size};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = file ? control.space : NULL,
                             .msg_controllen = file ? sizeof control.space : 0};
    ssize_t got = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *part = file && got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (part && part->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(part), sizeof *file);
    return got;
}

/* Receive, waiting if need be. False: the peer is gone or sent something else. The kernel looks for
 * data first and then for the end: of a peer that sends and closes in between we hear the end
 * before the data. So who hears the end asks once more. */
static bool receive(int connection, void *to, size_t size, int *file)
{
    struct sync_wait wait = SYNC_WAIT;
    ssize_t got;
    while ((got = receive_now(connection, to, size, file)) < 0 &&
           (errno == EAGAIN || errno == EINTR))
        sync_pause(&wait);
    if (!got)
        got = receive_now(connection, to, size, file);
    return got == (ssize_t)size;
}

static bool transmit(int connection, const void *from, size_t size, int file)
{
    union {
        char space[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec data = {(void *)from, size};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (file >= 0) {
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(part), &file, sizeof file);
    }
    return sendmsg(connection, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

static int create_file(size_t size)
{
    int fd = memfd_create("mpiaccel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        log_message(2, "no shared file: memfd_create: %m");
        return -1;
    }
    if (ftruncate(fd, (off_t)size) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        log_message(2, "no shared file of %zu bytes: %m; see `ulimit -f`", size);
        close(fd);
        return -1;
    }
    return fd;
}

/* Map the file. */
static bool map_file(uint32_t me, uint32_t size, size_t file_size)
{
    char *base = mmap(NULL, file_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      rendezvous.file, 0);
    if (base == MAP_FAILED) {
        log_message(2, "the shared file of %zu bytes cannot be mapped: %m; see `ulimit -v`",
                    file_size);
        return false;
    }
    node.base = base;
    node.end = base + file_size;
    by_rank.member = malloc((size_t)by_rank.count * sizeof *by_rank.member);
    node.header = (struct layout_header *)base;
    node.me = me;
    node.size = size;
    node.slice_size = (file_size - layout_header_size(size)) / size;
    return by_rank.member;
}

/* Peers' slices are of no use in a child. Nor in a core file, where the kernel would fill each hole
 * with a page first, as many as the machine has memory; arenas let it dump what they use. */
static void set_peers_apart(void)
{
    char *mine = node_slice(node.me), *after = mine + node.slice_size;
    madvise(node.base, (size_t)(mine - node.base), MADV_DONTFORK);
    madvise(after, (size_t)(node.end - after), MADV_DONTFORK);
    madvise(node.base, (size_t)(node.end - node.base), MADV_DONTDUMP);
}

static void unmap_file(enum reason why)
{
    if (node.header)
        munmap(node.base, (size_t)(node.end - node.base));
    free(by_rank.member);
    by_rank.member = NULL;
    close_fd(&rendezvous.file);
    node = (struct node){.why_not = why};
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

/* Accept all that have connected; returns how many sent a good greeting. */
static uint32_t accept_all(int *members, uint32_t most, struct greeting *together)
{
    uint32_t count = 0;
    int fd;
    while (count < most &&
           (fd = accept4(rendezvous.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct greeting g;
        if (!same_user(fd) || recv(fd, &g, sizeof g, 0) != sizeof g || g.magic != LAYOUT_MAGIC ||
            g.version != LAYOUT_VERSION) {
            close(fd);
            continue;
        }
        together->heap = g.heap > together->heap ? g.heap : together->heap;
        together->symmetric = g.symmetric > together->symmetric ? g.symmetric : together->symmetric;
        together->statics = g.statics > together->statics ? g.statics : together->statics;
        together->room = min_size(g.room, together->room);
        if (g.settings != together->settings)
            together->settings = (uint64_t)SETTINGS_DIFFER;
        members[count++] = fd;
    }
    return count;
}

/* Create the file for `size` members and fill its header. */
static bool create_shared(uint32_t size, const struct greeting *together)
{
    /* Of limited address space most stays the program's. */
    size_t header = layout_header_size(size);
    size_t most = min_size(min_size(together->room / 8, most_in_all), file_limit());
    most = most > header ? (most - header) / size : 0;
    /* A small limit on the heap is kept where it is used; a slice also holds what windows share. */
    size_t heap = together->heap > least_slice ? together->heap : least_slice;
    size_t arenas = round_up(min_size(heap, most_in_all), LAYOUT_PAGE) +
                    min_size(most_control, heap / 8) + LAYOUT_GAP;
    /* Where room is short the statics have what they need or nothing, the symmetric heap a quarter
     * of the rest. */
    size_t spare =
        most > least_slice + layout_tail(0, 0) ? most - least_slice - layout_tail(0, 0) : 0;
    size_t statics = together->statics <= spare ? round_up(together->statics, LAYOUT_PAGE) : 0;
    spare -= min_size(spare, statics);
    size_t symmetric = round_up(min_size(together->symmetric, most_in_all), LAYOUT_PAGE);
    if (symmetric + arenas > spare)
        symmetric = round_down(min_size(symmetric, spare / 4), LAYOUT_PAGE);
    size_t tail = layout_tail(symmetric, statics);
    size_t slice = round_down(min_size(arenas + tail, most), LAYOUT_PAGE);
    if (slice < least_slice + tail) {
        log_message(2, "no room for a shared file; see `ulimit -v` and `ulimit -f`");
        return false;
    }
    size_t file_size = header + size * slice;
    rendezvous.file = create_file(file_size);
    if (rendezvous.file < 0 || !map_file(0, size, file_size))
        return false;
    *node.header = (struct layout_header){
        .magic = LAYOUT_MAGIC,
        .version = LAYOUT_VERSION,
        .members = size,
        .slice_size = slice,
        .control_size = round_down(min_size(most_control, (slice - tail) / 8), LAYOUT_PAGE),
        .symmetric_size = symmetric,
        .statics_size = statics,
        .copy_policy = COPY_POLICY_DEFAULT,
    };
    return true;
}

/* Make the offer to all and collect their answers. A member that it does not reach would answer
 * nothing: its connection ends. */
static bool offer_to_all(int *members, uint32_t count, bool shared, enum reason why_not)
{
    bool all = shared;
    for (uint32_t i = 0; i < count; i++) {
        struct offer offer = {.magic = LAYOUT_MAGIC,
                              .me = i + 1,
                              .size = count + 1,
                              .file_size = shared ? (size_t)(node.end - node.base) : 0,
                              .why_not = why_not};
        if (!transmit(members[i], &offer, sizeof offer, shared ? rendezvous.file : -1)) {
            log_message(2, "the shared file cannot be sent to member %u: %m", i + 1);
            close_fd(&members[i]);
            all = false;
        }
    }
    for (uint32_t i = 0; shared && i < count; i++) {
        char good = 0;
        if (members[i] < 0)
            continue;
        if (!receive(members[i], &good, 1, NULL) || !good) {
            log_message(2, "member %u could not take the shared file", i + 1);
            all = false;
        }
    }
    return all;
}

static void lead(int world_rank)
{
    uint32_t expected = rendezvous.job.local_size;
    int *members = calloc(expected, sizeof *members);
    struct greeting together = own_greeting();
    uint32_t count = 0;
    if (members && rendezvous.listener >= 0)
        count = accept_all(members, expected - 1, &together);
    close_fd(&rendezvous.listener);
    bool complete = members && count + 1 == expected;
    bool alike = together.settings != (uint64_t)SETTINGS_DIFFER;
    bool shared = complete && alike && create_shared(expected, &together);
    if (shared)
        write_record(world_rank);
    enum reason why_not = !complete ? REASON_NO_LIBRARY
                          : alike   ? REASON_NO_SHARING
                                    : REASON_SETTINGS;
    bool all = offer_to_all(members, count, shared, why_not);
    if (shared)
        sync_publish_ordered(&node.header->verdict, all ? LAYOUT_COMPLETE : LAYOUT_PARTIAL);
    for (uint32_t i = 0; i < count; i++)
        close_fd(&members[i]);
    free(members);
    if (!all)
        unmap_file(why_not);
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

static void join(int world_rank)
{
    struct offer offer = {0};
    bool heard = receive(rendezvous.leader, &offer, sizeof offer, &rendezvous.file) &&
                 offer.magic == LAYOUT_MAGIC;
    if (!heard)
        log_message(2, "no offer has come from the leader of this node");
    else if (offer.file_size && rendezvous.file < 0)
        log_message(2, "the shared file has not come; see `ulimit -n`");
    char good = heard && offer.file_size && rendezvous.file >= 0 &&
                map_file(offer.me, offer.size, offer.file_size) && header_is_good();
    enum reason why = heard && offer.why_not < REASON_COUNT ? offer.why_not : REASON_NO_LIBRARY;
    if (good)
        write_record(world_rank);
    if (heard)
        transmit(rendezvous.leader, &good, 1, -1);
    close_fd(&rendezvous.leader);
    if (good) {
        struct sync_wait wait = SYNC_WAIT;
        uint32_t verdict;
        while ((verdict = sync_load(&node.header->verdict)) == LAYOUT_OPEN)
            sync_wait(&wait, &node.header->verdict, LAYOUT_OPEN);
        good = verdict == LAYOUT_COMPLETE;
    }
    if (!good)
        unmap_file(why);
}

/* ---- settling ---- */

static void index_ranks(void)
{
    for (int r = 0; r < by_rank.count; r++)
        by_rank.member[r] = -1;
    for (uint32_t i = 0; i < node.size; i++)
        by_rank.member[node_member(i)->world_rank] = (int32_t)i;
}

void node_settle(int world_rank, int world_size)
{
    by_rank.count = world_size;
    if (!rendezvous.job.local_size)
        node.why_not = REASON_UNKNOWN_NODE;
    else if (rendezvous.leader >= 0)
        join(world_rank);
    else
        lead(world_rank);
    if (!node.header) {
        close_fd(&rendezvous.reserved);
        log_message(1, "nothing is fast: %s; %s", stats_reasons[node.why_not],
                    stats_advice[node.why_not]);
        return;
    }
    index_ranks();
    set_peers_apart();
    move_up(&rendezvous.file);
    node_open_views(rendezvous.file);
    vm_copy_open();
    thread_offer_inflight(node_member(node.me)->inflight);
}

/* ---- queries ---- */

static bool same_node(int rank, int other)
{
    return !config.node_size ||
           (unsigned long)rank / config.node_size == (unsigned long)other / config.node_size;
}

int node_world_size(void)
{
    return by_rank.count;
}

int node_member_of(int world_rank)
{
    if (!node.header || world_rank < 0 || world_rank >= by_rank.count ||
        !same_node(world_rank, node_member(node.me)->world_rank))
        return -1;
    return by_rank.member[world_rank];
}

bool node_oversubscribed(void)
{
    uint32_t cpus = 0;
    for (uint32_t word = 0; word < LAYOUT_CPUS / 64; word++) {
        uint64_t any = 0;
        for (uint32_t i = 0; i < node.size; i++)
            any |= node_member(i)->cpus[word];
        cpus += (uint32_t)__builtin_popcountll(any);
    }
    return cpus < node.size;
}
