#include "node/rendezvous.h"

#include "core/config.h"
#include "core/copy_policy.h"
#include "core/log.h"
#include "core/os_number.h"
#include "core/peer_memory.h"
#include "node/fd_message.h"
#include "node/memfd.h"
#include "node/node.h"
#include "node/places.h"
#include "node/statics.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct greeting {
    uint64_t magic;
    uint64_t version; /* 64 bits: padding would send bytes that were never set */
    uint64_t world_rank, world_size;
    uint64_t is_described; /* the launcher has given the sender this rank or none */
    uint64_t refusal;      /* enum reason: why nothing may be shared with the sender */
    struct node_needs needs;
    uint64_t settings, meeting;
};
enum { SETTINGS_DIFFER = -1, MEETINGS_DIFFER = -1 };

struct offer {
    uint64_t magic;
    uint32_t me; /* the receiver's number among the members */
    uint32_t size;
    uint64_t file_size; /* 0: nothing is shared, and no descriptor comes with the offer */
    uint32_t why_not;   /* then: enum reason */
    uint32_t statics;   /* files with statics that follow */
};

/* A message that comes with one descriptor for each of these members. */
struct statics_message {
    uint32_t count;
    uint32_t member[FD_MESSAGE_MAX];
};

enum answer { ANSWER_NOTHING, ANSWER_FILE, ANSWER_FILE_AND_STATICS };

static struct {
    struct job job;
    bool is_short;       /* of descriptors or memory: everything is left to the host */
    enum reason why_not; /* why this rank has no place, although it expects others */
    enum reason refusal; /* why nothing may be shared with this rank */
    int leader;          /* a member's connection to the leader */
    int file;            /* the node's */
    int reserved;        /* the number that its descriptor gets */
    size_t symmetric;
    int statics_file;
    uint64_t meeting;
} rendezvous = {.leader = -1, .file = -1, .reserved = -1, .statics_file = -1};

uint64_t common_settings(void)
{
    return (uint64_t)config.nodes_calls << 32 | (uint64_t)config.node_size << 3 |
           (uint64_t)config.nodes << 2 | (uint64_t)config.coll << 1 | config.rma;
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
    size_t limit = os_limit(RLIMIT_AS);
    if (limit == SIZE_MAX)
        return SIZE_MAX;
    size_t used = used_address_space();
    return limit > used ? limit - used : 0;
}

/* Whether so few descriptors or so little private memory are left that the host and the program may
 * need all of them. Both hosts open up to 20 descriptors for two ranks, and allocate up to 24 MiB.
 * The lowest free number shows how many descriptors are in use. */
static bool is_short_of_resources(void)
{
    enum { DESCRIPTORS = 40 };
    const size_t memory = (size_t)64 << 20;
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (first >= 0)
        close(first);
    return first < 0 || os_limit(RLIMIT_NOFILE) < (size_t)first + DESCRIPTORS ||
           os_limit(RLIMIT_DATA) < memory;
}

bool rendezvous_prepare(void)
{
    rendezvous.is_short = is_short_of_resources();
    return !rendezvous.is_short;
}

void rendezvous_want(size_t symmetric, int statics_file)
{
    rendezvous.symmetric = symmetric;
    rendezvous.statics_file = statics_file;
}

void rendezvous_refuse(enum reason why_not)
{
    rendezvous.refusal = why_not;
}

static struct node_needs own_needs(void)
{
    size_t heap = config.heap_size ? config.heap_size : physical_memory();
    return (struct node_needs){.heap = heap,
                               .symmetric = rendezvous.symmetric ? rendezvous.symmetric : heap,
                               .statics = memfd_sealed_size(rendezvous.statics_file),
                               .room = address_space_left()};
}

/* To these tools a word is undefined, or the target of a data race, until this process has written
 * it. They do not see the stores of other processes, and would report correct programs. */
static int is_checker(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)size, (void)unused;
    static const char *const tools[] = {"/vgpreload_memcheck", "/vgpreload_helgrind",
                                        "/vgpreload_drd"};
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (object->dlpi_name && strstr(object->dlpi_name, tools[i]))
            return true;
    return false;
}

static struct greeting own_greeting(int world_rank, int world_size)
{
    const struct job *job = &rendezvous.job;
    return (struct greeting){.magic = LAYOUT_MAGIC,
                             .version = LAYOUT_VERSION,
                             .world_rank = (uint64_t)world_rank,
                             .world_size = (uint64_t)world_size,
                             .is_described = job->rank < 0 || job->rank == world_rank,
                             .refusal = dl_iterate_phdr(is_checker, NULL) ? REASON_CHECKED
                                                                          : rendezvous.refusal,
                             .needs = own_needs(),
                             .settings = common_settings(),
                             .meeting = rendezvous.meeting};
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
    if (rendezvous.is_short)
        return;
    reserve_descriptor();
    if (job->local_size < 2)
        return;
    rendezvous.why_not = places_take(job);
}

static void write_record(int world_rank)
{
    struct layout_member *me = node_member(node.me);
    me->world_rank = world_rank;
    me->pid = getpid();
    me->base = (uintptr_t)node.base;
    me->heap = statics_heap();
    me->probe = peer_memory_probe(&me->probe_address);
    processors_read(&me->processors);
    me->wait = config.wait;
    me->prints_statistics = config.stats != NULL;
}

/* ---- membership ---- */

/* Whether the member before this one, in a ring of all members, is the rank of this world that it
 * claims to be. */
static bool is_confirmed(rendezvous_exchange_fn *exchange)
{
    uint32_t next = (node.me + 1) % node.size, previous = (node.me + node.size - 1) % node.size;
    uint64_t received;
    return exchange(node_member(next)->world_rank, node_member(previous)->world_rank,
                    node.header->token, &received) &&
           received == node.header->token;
}

static void publish_membership(rendezvous_exchange_fn *exchange)
{
    bool confirmed = is_confirmed(exchange);
    sync_publish_ordered(&node_member(node.me)->membership,
                         confirmed ? LAYOUT_SAME_WORLD : LAYOUT_OTHER_WORLD);
    if (!confirmed)
        log_message(2, "the ranks on this node are not those of one MPI_COMM_WORLD");
}

/* The word's value when it is no longer `initial`. */
static uint32_t changed(struct sync_word *word, uint32_t initial)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t value;
    while ((value = sync_load(word)) == initial)
        sync_wait(&wait, word, initial);
    return value;
}

/* ---- the leader ---- */

/* The leader's connection to a member; arrays of these are indexed by member number, and the leader
 * is number 0. */
struct connection {
    int socket;  /* -1: none */
    int statics; /* the file with the member's static variables; -1: none */
};

/* Combine a member's greeting with those of the others: the file must satisfy all of them. */
static void add_greeting(struct greeting *all, const struct greeting *g, int statics)
{
    bool has_statics = memfd_sealed_size(statics) == g->needs.statics;
    node_needs_combine(&all->needs, &g->needs);
    if (!has_statics)
        all->needs.statics = NODE_STATICS_MISSING;
    all->is_described &= g->is_described && g->world_size == all->world_size;
    if (all->refusal == REASON_NONE)
        all->refusal = g->refusal;
    if (g->settings != all->settings)
        all->settings = (uint64_t)SETTINGS_DIFFER;
    if (g->meeting != all->meeting)
        all->meeting = (uint64_t)MEETINGS_DIFFER;
}

static enum place_call call(uint32_t place, struct connection *member)
{
    member->statics = -1;
    return places_call(place, &member->socket);
}

/* Returns how many members there are, with the leader. */
static uint32_t call_all(struct connection *members, uint32_t expected, enum reason *why_not)
{
    uint32_t count = 1;
    enum place_call result = PLACE_CALLED;
    while (count < expected && (result = call(count, &members[count])) == PLACE_CALLED)
        count++;
    if (result != PLACE_CALLED)
        *why_not = result == PLACE_EMPTY ? REASON_NO_LIBRARY : REASON_EXHAUSTED;
    return count;
}

static bool world_ranks_differ(const uint64_t *world_rank, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (world_rank[i] == world_rank[j])
                return false;
    return true;
}

/* A member that does not send a good greeting is dropped. */
static bool receive_greeting(struct connection *member, struct greeting *g)
{
    bool good = member->socket >= 0 &&
                fd_message_receive(member->socket, g, sizeof *g, &member->statics, 1) &&
                g->magic == LAYOUT_MAGIC && g->version == LAYOUT_VERSION;
    if (!good)
        fd_close(&member->socket);
    return good;
}

static bool receive_greetings(struct connection *members, uint32_t count, struct greeting *all,
                              uint64_t *world_rank)
{
    uint32_t good = 1;
    for (uint32_t i = 1; i < count; i++) {
        struct greeting g;
        if (!receive_greeting(&members[i], &g))
            continue;
        add_greeting(all, &g, members[i].statics);
        world_rank[i] = g.world_rank;
        good++;
    }
    return good == count;
}

/* Find all members. Returns REASON_NONE if the node is complete. */
static enum reason find_all(struct connection *members, uint64_t *world_rank, uint32_t expected,
                            struct greeting *all, uint32_t *count)
{
    enum reason why_not = REASON_NONE;
    *count = call_all(members, expected, &why_not);
    world_rank[0] = all->world_rank;
    bool all_greet = receive_greetings(members, *count, all, world_rank);
    /* Now there is a descriptor for one more connection, and then for the node's file. */
    places_release();
    if (why_not != REASON_NONE)
        return why_not;
    if (!all_greet)
        return REASON_NO_LIBRARY;
    if (!all->is_described || !world_ranks_differ(world_rank, *count) ||
        (expected > 1 && places_taken(expected)))
        return REASON_OTHER_WORLD;
    if (all->refusal != REASON_NONE && *count > 1)
        return (enum reason)all->refusal;
    if (all->meeting == (uint64_t)MEETINGS_DIFFER)
        return REASON_MEETINGS;
    return all->settings == (uint64_t)SETTINGS_DIFFER ? REASON_SETTINGS : REASON_NONE;
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
        *with_files = errno == ETOOMANYREFS && sync_now_ns() - start < PLACES_PATIENCE_NS;
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

/* Send the offer, and `statics` files with statics, to all members. A member that cannot be reached
 * would never answer, so its connection is closed. */
static void offer_to_all(struct connection *members, uint32_t size, struct offer offer)
{
    bool with_files = true;
    for (uint32_t i = 1; i < size; i++) {
        int *member = &members[i].socket;
        offer.me = i;
        if (!fd_message_send(*member, &offer, sizeof offer, &rendezvous.file,
                             offer.file_size != 0) ||
            !send_all_statics(*member, members, size, offer.statics, &with_files)) {
            log_message(2, "the shared file cannot be sent to member %u: %m", i);
            fd_close(member);
        }
    }
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
}

/* Turn away the members that the leader had no descriptor for, one after the other. The one at the
 * last place comes first: when a rank leaves its place, the one behind it gives up. */
static void turn_away(uint32_t first, uint32_t last, enum reason why_not)
{
    const struct offer offer = {.magic = LAYOUT_MAGIC, .why_not = why_not};
    for (uint32_t place = last; place >= first; place--) {
        struct connection member;
        struct greeting greeting;
        if (call(place, &member) == PLACE_CALLED && receive_greeting(&member, &greeting))
            fd_message_send(member.socket, &offer, sizeof offer, NULL, 0);
        fd_close(&member.socket);
        fd_close(&member.statics);
    }
}

/* Perform the leader's part in the verdict. */
static bool decide_verdict(bool good, uint32_t size, rendezvous_exchange_fn *exchange)
{
    if (good && size > 1 && exchange) {
        /* Releases what the header and the leader's record hold. */
        sync_publish_ordered(&node.header->verdict, LAYOUT_CONFIRM);
        publish_membership(exchange);
        for (uint32_t i = 0; i < size; i++)
            good &= changed(&node_member(i)->membership, LAYOUT_UNCONFIRMED) == LAYOUT_SAME_WORLD;
        if (!good)
            node.header->why_not = REASON_OTHER_WORLD;
    }
    sync_publish_ordered(&node.header->verdict, good ? LAYOUT_COMPLETE : LAYOUT_PARTIAL);
    return good;
}

/* Offer all members a file of the node. Returns REASON_NONE if all have it and belong together. */
static enum reason share(const struct greeting *all, int world_rank, struct connection *members,
                         uint32_t size, rendezvous_exchange_fn *exchange)
{
    struct offer offer = {.magic = LAYOUT_MAGIC, .size = size, .why_not = REASON_NO_SHARING};
    rendezvous.file = node_create(size, (int)all->world_size, &all->needs);
    if (rendezvous.file < 0) {
        offer_to_all(members, size, offer);
        return REASON_NO_SHARING;
    }
    write_record(world_rank);
    offer.file_size = (size_t)(node.end - node.base);
    offer.statics = map_all_statics(members, size);
    offer_to_all(members, size, offer);
    node.header->statics_shared = offer.statics != 0;
    return decide_verdict(all_answer(members, size), size, exchange)
               ? REASON_NONE
               : (enum reason)node.header->why_not;
}

/* Find all members, and share a file with them or offer them none. */
static enum reason gather(struct connection *members, uint64_t *world_ranks, int world_rank,
                          int world_size, rendezvous_exchange_fn *exchange)
{
    uint32_t expected = rendezvous.job.local_size, count;
    struct greeting all = own_greeting(world_rank, world_size);
    members[0] = (struct connection){-1, rendezvous.statics_file};
    enum reason why_not = find_all(members, world_ranks, expected, &all, &count);
    if (why_not == REASON_NONE)
        why_not = share(&all, world_rank, members, count, exchange);
    else {
        if (why_not == REASON_EXHAUSTED)
            turn_away(count, expected - 1, why_not);
        offer_to_all(members, count, (struct offer){.magic = LAYOUT_MAGIC, .why_not = why_not});
    }
    close_all(members, count);
    return why_not;
}

static void lead_node(int world_rank, int world_size, rendezvous_exchange_fn *exchange)
{
    uint32_t expected = rendezvous.job.local_size;
    struct connection *members = malloc(expected * sizeof *members);
    uint64_t *world_ranks = malloc(expected * sizeof *world_ranks);
    enum reason why_not = REASON_EXHAUSTED;
    if (members && world_ranks)
        why_not = gather(members, world_ranks, world_rank, world_size, exchange);
    else {
        places_release();
        turn_away(1, expected - 1, why_not);
    }
    free(members);
    free(world_ranks);
    if (why_not != REASON_NONE)
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

/* Perform the member's part in the verdict. */
static bool wait_for_verdict(rendezvous_exchange_fn *exchange)
{
    uint32_t verdict = changed(&node.header->verdict, LAYOUT_OPEN);
    if (verdict == LAYOUT_CONFIRM) {
        publish_membership(exchange);
        verdict = changed(&node.header->verdict, LAYOUT_CONFIRM);
    }
    return verdict == LAYOUT_COMPLETE;
}

/* Send the greeting with the descriptor of the statics, or without it if the OS refuses to take it.
 * The leader then finds that it is missing. If nothing can be sent, the leader finds the connection
 * closed. */
static void greet(int world_rank, int world_size)
{
    struct greeting greeting = own_greeting(world_rank, world_size);
    if (rendezvous.statics_file >= 0 &&
        fd_message_send(rendezvous.leader, &greeting, sizeof greeting, &rendezvous.statics_file, 1))
        return;
    if (!fd_message_send(rendezvous.leader, &greeting, sizeof greeting, NULL, 0))
        fd_close(&rendezvous.leader);
}

static void join(int world_rank, int world_size, rendezvous_exchange_fn *exchange)
{
    struct offer offer = {0};
    char answer = ANSWER_NOTHING;
    enum reason why_not = places_wait_for_call(&rendezvous.leader);
    bool called = why_not == REASON_NONE;
    if (called)
        greet(world_rank, world_size);
    bool offered = called && receive_offer(&offer);
    places_leave();
    if (called)
        why_not = offered ? offer.why_not : REASON_NO_LIBRARY;
    if (offered && offer.file_size && rendezvous.file >= 0 &&
        node_map(rendezvous.file, offer.file_size, offer.me, offer.size, world_size) &&
        header_is_good()) {
        write_record(world_rank);
        answer = (char)receive_statics(offer.statics);
    }
    if (offered)
        fd_message_send(rendezvous.leader, &answer, 1, NULL, 0);
    fd_close(&rendezvous.leader);
    if (answer != ANSWER_NOTHING && wait_for_verdict(exchange))
        return;
    if (answer != ANSWER_NOTHING)
        why_not = node.header->why_not;
    node_unmap(why_not);
}

/* ---- settling ---- */

/* A process that is alone in its MPI_COMM_WORLD needs no launcher, and may be inside a rank of
 * another job. */
static void leave_others(void)
{
    places_leave();
    rendezvous.job = (struct job){.local_size = 1, .rank = -1};
}

void rendezvous_settle(int world_rank, int world_size, uint64_t meeting,
                       rendezvous_exchange_fn *exchange)
{
    rendezvous.meeting = meeting;
    if (world_size == 1)
        leave_others();
    if (rendezvous.is_short)
        node.why_not = REASON_EXHAUSTED;
    else if (!rendezvous.job.local_size)
        node.why_not = REASON_UNKNOWN_NODE;
    else if (rendezvous.job.local_size == 1 || places_mine() == 0)
        lead_node(world_rank, world_size, exchange);
    else if (places_mine() == PLACE_NONE)
        node.why_not = rendezvous.why_not;
    else
        join(world_rank, world_size, exchange);
    if (!node.header) {
        fd_close(&rendezvous.file);
        fd_close(&rendezvous.reserved);
        log_message(1, "nothing is accelerated: %s; %s", stats_reasons[node.why_not],
                    stats_advice[node.why_not]);
        return;
    }
    move_to_reserved(&rendezvous.file);
    node_open(rendezvous.file);
    thread_offer_inflight(node_member(node.me)->inflight);
}
