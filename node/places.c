#include "node/places.h"

#include "core/layout.h"
#include "node/fd_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
    uint64_t job;  /* hash of its key */
    uint32_t mine; /* the number of this rank's place */
    int listener;  /* at this rank's place */
    int calls;     /* a member's: the leader connects to it */
    int previous;  /* a member's connection to the place before its own */
} places = {.mine = PLACE_NONE, .listener = -1, .calls = -1, .previous = -1};

/* Sent by the leader, so that a member greets no process outside the job. */
struct leader_call {
    uint64_t magic;
    uint64_t version; /* 64 bits: padding would send bytes that were never set */
};

/* ---- sockets ---- */

static socklen_t socket_name(struct sockaddr_un *address, const char *what, uint32_t place)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length =
        snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "mpiaccel-%u-%016llx-%s-%u",
                 geteuid(), (unsigned long long)places.job, what, place);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool same_user(int connection)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           peer.uid == geteuid();
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool bind_to(int fd, const char *what, uint32_t place)
{
    struct sockaddr_un address;
    socklen_t length = socket_name(&address, what, place);
    return !bind(fd, (struct sockaddr *)&address, length);
}

/* Connect to a rank of the same user. Try again for a while if the queue of that rank is full,
 * which only processes outside the job can cause, and with `may_listen_later` also if the rank does
 * not listen yet. */
static enum place_call connect_to(int *fd, const char *what, uint32_t place, bool may_listen_later)
{
    struct sockaddr_un address;
    socklen_t length = socket_name(&address, what, place);
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    *fd = new_socket();
    if (*fd < 0)
        return PLACE_NO_DESCRIPTOR;
    while (connect(*fd, (struct sockaddr *)&address, length)) {
        bool again = errno == EAGAIN || (errno == ECONNREFUSED && may_listen_later);
        if (!again || sync_now_ns() - start > PLACES_PATIENCE_NS) {
            fd_close(fd);
            return PLACE_EMPTY;
        }
        sync_pause(&wait);
    }
    if (same_user(*fd))
        return PLACE_CALLED;
    fd_close(fd);
    return PLACE_EMPTY;
}

/* ---- taking and leaving a place ---- */

/* Take the first place that no rank has. A rank at a place behind those of all expected ranks shows
 * the leader that there are too many; no rank needs places further behind. */
static enum reason take_first_free(uint32_t expected)
{
    places.listener = new_socket();
    for (uint32_t place = 0; places.listener >= 0; place++) {
        if (place > expected)
            return REASON_OTHER_WORLD;
        if (bind_to(places.listener, "place", place)) {
            places.mine = place;
            return listen(places.listener, 1) ? REASON_EXHAUSTED : REASON_NONE;
        }
        if (errno != EADDRINUSE)
            break;
    }
    return REASON_EXHAUSTED;
}

/* Returns REASON_NONE, or why this rank cannot be called. The rank before this one may not listen
 * yet. */
static enum reason queue_at_place(void)
{
    places.calls = new_socket();
    if (places.calls < 0 || !bind_to(places.calls, "call", places.mine) || listen(places.calls, 1))
        return REASON_EXHAUSTED;
    switch (connect_to(&places.previous, "place", places.mine - 1, true)) {
    case PLACE_CALLED:
        return REASON_NONE;
    case PLACE_EMPTY:
        return REASON_NO_LIBRARY;
    default:
        return REASON_EXHAUSTED;
    }
}

enum reason places_take(const struct job *job)
{
    places.job = job_hash(job->key);
    enum reason why_not = take_first_free(job->local_size);
    if (why_not == REASON_NONE && places.mine)
        why_not = queue_at_place();
    if (why_not != REASON_NONE)
        places_leave();
    return why_not;
}

uint32_t places_mine(void)
{
    return places.mine;
}

void places_leave(void)
{
    fd_close(&places.calls);
    fd_close(&places.listener);
    fd_close(&places.previous);
    places.mine = PLACE_NONE;
}

/* ---- the leader ---- */

enum place_call places_call(uint32_t place, int *connection)
{
    const struct leader_call call = {LAYOUT_MAGIC, LAYOUT_VERSION};
    enum place_call result = connect_to(connection, "call", place, false);
    if (result == PLACE_CALLED && !fd_message_send(*connection, &call, sizeof call, NULL, 0))
        fd_close(connection);
    return result;
}

bool places_taken(uint32_t place)
{
    int fd;
    bool taken = connect_to(&fd, "call", place, false) == PLACE_CALLED;
    fd_close(&fd);
    return taken;
}

void places_release(void)
{
    fd_close(&places.listener);
}

/* ---- a member ---- */

/* Whether a connection that nothing is sent on has ended. */
static bool has_ended(int fd)
{
    char byte;
    ssize_t received = recv(fd, &byte, 1, MSG_DONTWAIT);
    return !received || (received < 0 && errno != EAGAIN && errno != EINTR);
}

/* Whether a connection is from the leader, which calls at once. */
static bool is_called(int fd)
{
    struct leader_call call = {0};
    struct sync_wait wait = SYNC_WAIT;
    uint64_t start = sync_now_ns();
    ssize_t received = -1;
    if (!same_user(fd))
        return false;
    while ((received = fd_message_receive_now(fd, &call, sizeof call, NULL, 0)) < 0 &&
           errno == EAGAIN && sync_now_ns() - start < PLACES_PATIENCE_NS)
        sync_pause(&wait);
    return received == sizeof call && call.magic == LAYOUT_MAGIC && call.version == LAYOUT_VERSION;
}

/* Accept the leader's connection. -1: it has not come yet (EAGAIN), or errno has another reason. */
static int accept_leader(void)
{
    int fd;
    while ((fd = accept4(places.calls, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (is_called(fd))
            return fd;
        close(fd);
    }
    return -1;
}

/* The rank before this one leaves its place when the leader has called all, or when it has itself
 * given up. So when it has left, the leader has called this one, or will not. REASON_NONE: the
 * leader has called. */
enum reason places_wait_for_call(int *leader)
{
    struct sync_wait wait = SYNC_WAIT;
    enum reason why_not = REASON_NONE;
    bool last = false;
    while ((*leader = accept_leader()) < 0 && why_not == REASON_NONE) {
        if (errno != EAGAIN)
            why_not = REASON_EXHAUSTED;
        else if (last)
            why_not = REASON_NO_LIBRARY;
        else if (!(last = has_ended(places.previous)))
            sync_pause(&wait);
    }
    fd_close(&places.calls);
    return *leader >= 0 ? REASON_NONE : why_not;
}
