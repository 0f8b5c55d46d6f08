#include "node/fd_message.h"

#include "core/sync.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    char space[CMSG_SPACE(FD_MESSAGE_MAX * sizeof(int))];
    struct cmsghdr align;
};

void fd_close(int *file)
{
    if (*file >= 0)
        close(*file);
    *file = -1;
}

bool fd_message_send(int socket, const void *data, size_t size, const int *files, unsigned count)
{
    union control control = {{0}};
    struct iovec part = {(void *)data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(count * sizeof *files);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof *files);
        memcpy(CMSG_DATA(rights), files, count * sizeof *files);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

ssize_t fd_message_receive_now(int socket, void *data, size_t size, int *files, unsigned count)
{
    union control control;
    struct iovec part = {data, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        message.msg_control = control.space;
        /* Not CMSG_SPACE: its padding has room for one more descriptor. */
        message.msg_controllen = CMSG_LEN(count * sizeof *files);
    }
    for (unsigned i = 0; i < count; i++)
        files[i] = -1;
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *rights = count && received > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS)
        memcpy(files, CMSG_DATA(rights),
               min_size(rights->cmsg_len - CMSG_LEN(0), count * sizeof *files));
    return received;
}

/* The OS looks for data first and then for the end of the connection. If the peer sends and closes
 * between the two, the end is reported before the data, so ask once more after the end. */
bool fd_message_receive(int socket, void *data, size_t size, int *files, unsigned count)
{
    struct sync_wait wait = SYNC_WAIT;
    ssize_t received;
    while ((received = fd_message_receive_now(socket, data, size, files, count)) < 0 &&
           (errno == EAGAIN || errno == EINTR))
        sync_pause(&wait);
    if (!received)
        received = fd_message_receive_now(socket, data, size, files, count);
    if (received == (ssize_t)size)
        return true;
    for (unsigned i = 0; i < count; i++)
        fd_close(&files[i]);
    return false;
}
