/* Messages between processes of one node, over connected Unix sockets of type SOCK_SEQPACKET: a
 * structure and, with it, file descriptors (SCM_RIGHTS). */
#ifndef MPIACCEL_FD_MESSAGE_H
#define MPIACCEL_FD_MESSAGE_H

#include "core/base.h"

#include <sys/types.h>

/* The most descriptors in one message. The receiver needs that many free ones for a moment. */
#ifndef FD_MESSAGE_MAX /* a test has fewer */
#define FD_MESSAGE_MAX 64
#endif

/* Send without waiting. False: errno has the reason. */
bool fd_message_send(int socket, const void *data, size_t size, const int *files, unsigned count);

/* Receive a message that has arrived. Returns its length, 0 if the peer has closed the connection,
 * -1 if there is none (EAGAIN). Descriptors that did not come with it, or for which this process
 * has no room (`ulimit -n`), are -1. */
ssize_t fd_message_receive_now(int socket, void *data, size_t size, int *files, unsigned count);

/* Wait for a message of exactly `size` bytes and receive it. False: the peer is gone, or its
 * message has another length. */
bool fd_message_receive(int socket, void *data, size_t size, int *files, unsigned count);

/* Close a descriptor, if it is one, and set it to -1. */
void fd_close(int *file);

#endif
