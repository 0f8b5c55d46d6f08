/* Messages that a process sends again: a copy of each, which travels while the program goes on.
 *
 * The host sends a copy in the shared heap like any long message; its receiver copies that plainly
 * (alloc/cma.h), or by the kernel. Most of what this costs is that a copy has just been written.
 * The receiver's core had its cache lines since the message before; to write them means to take
 * them away from it, and to read them means to get them back, line by line (figures in HACKING.md).
 * So a message that is the same as the last one from that buffer to that rank is not copied again.
 * It is compared, which leaves all lines where they are, and the copy of last time is sent again.
 *
 * A message is known by its address, length, destination and communicator. For each that is known:
 *
 *   first time         only remembered; the host sends it, and has judged rank and communicator
 *   no copy yet        copied; the copy is sent
 *   same as the copy   the copy is sent
 *   different          and the next 8, 64, then 512 are not compared but taken for different:
 *                        to renew the copy pays: copied, the copy is sent
 *                        else the host sends it; after those the copy is made anew
 *   copy on its way    the host sends it
 *
 * So data that change each time cost one comparison in 512, which ends at the first difference. To
 * renew pays where the receiver copies plainly; by the kernel, to write the copy and fetch it costs
 * as much as the host's own way. Whatever is not sent from here the host sends from the program's
 * own buffer, which it has as before: the program never has less room than the standard promises
 * it, and what does not fit the host reports. The copies are extra room, at most as much as the
 * program attached.
 *
 * Two messages of one pair are both sends of the host's on one communicator, begun in the order of
 * the program: matching, probing and non-overtaking are the host's (H30).
 *
 * Threads: a lock around the places' states; none is held while a message is compared or copied, in
 * a call of the host, nor in a wait. A place that a thread works on is BUSY, and others pass it by.
 * So a function of the program that the host calls back may do all that is done here.
 */
#ifndef MPIACCEL_KEPT_H
#define MPIACCEL_KEPT_H

#include "alloc/outbox.h"

/* What tells messages apart. Numbers mean to us nothing more than that. */
struct kept_key {
    const void *from;
    size_t bytes;
    uintptr_t comm;
    int rank;
};

enum kept_state { KEPT_IDLE, KEPT_BUSY, KEPT_FLYING };

struct kept {
    struct kept_key key;
    enum kept_state state;
    struct parcel parcel; /* the copy: in the outbox, or in the shared heap */
    bool holds;           /* it is what was sent last */
    bool has_flown;       /* it was sent before, and has landed if it is claimed again */
    uint32_t misses;      /* in a row */
    uint32_t passing;     /* so many more are taken for different */
    uintptr_t request;
};

/* Has what flies there landed? Then its request is nobody's any more. Must not wait. */
typedef bool kept_landed_fn(struct kept *place);

/* The program has attached a buffer with room for one message of `room` bytes, or more that are
 * shorter. */
void kept_open(size_t room, kept_landed_fn *landed);

/* Else kept_claim() always says no. */
extern bool kept_is_open;

/* A place whose copy holds the message now; the caller sends it and says kept_flies(), or, if that
 * failed, kept_drop(). NULL: the host's. `renew`: whether that pays. */
struct kept *kept_claim(struct kept_key key, bool renew);
void kept_flies(struct kept *place, uintptr_t request);
void kept_drop(struct kept *place);

/* Which communicators are meant. */
typedef bool kept_of_fn(uintptr_t comm, uintptr_t context);

/* Until all that was sent there has left, with progress of the host. */
void kept_drain(kept_of_fn *of, uintptr_t context);

/* What is sent there next is the host's, to judge it: the communicator is being freed and its
 * handle may come back for another, or it has another buffer now, or the host has refused a
 * message. */
void kept_forget(kept_of_fn *of, uintptr_t context);

/* When all has left: forget all and give the memory back. */
void kept_close(void);

#endif
