/* The send buffer: memory of this process in the shared file, out of which the host sends buffered
 * messages, and which counts what their receivers have copied out of it (alloc/vm_copy.h). So the
 * sender learns that a message has been received without an answer of the host's.
 *
 *     bytes read, of each page | first page of its message, of each page | pages
 *
 * Who writes: the bytes read of a message's first page, each receiver that copies some of it, with
 * release after the copy; the first page, the owner, before the host sends the message. Where the
 * send buffer is and how long stands in the owner's record as one word, so that nobody sees half of
 * a change. Sender and receiver need no further order for these words: the host's message is
 * between them.
 *
 * A receiver that truncates the message, copies it by the OS, or dies does not count. Then the
 * message is received when the host says so.
 *
 * Threads: a lock protects the list of free pages. A block belongs to who has taken it.
 */
#ifndef MPIACCEL_SEND_BUFFER_H
#define MPIACCEL_SEND_BUFFER_H

#include "core/layout.h"

/* Memory for a message. */
struct send_block {
    char *at; /* NULL: none */
    size_t size;
    const _Atomic uint64_t *bytes_read; /* modulo 2^64, of all messages that ever began here */
    uint64_t bytes_sent;                /* likewise: they are equal when all has been read */
};

/* Messages of so many bytes together will be in it. Its memory is allocated with the first one. */
void send_buffer_open(size_t bytes);

/* No message is in it, except for those of which the host does not know yet that they have been
 * received. A small one keeps its memory. */
void send_buffer_close(void);

struct send_block send_buffer_take(size_t bytes);
void send_buffer_give(const struct send_block *block);

/* The host begins to send so many bytes from its beginning. */
static inline void send_buffer_sent(struct send_block *block, size_t bytes)
{
    block->bytes_sent += bytes;
}

static inline bool send_buffer_is_read(const struct send_block *block)
{
    /* Acquire: what has been read may be overwritten. */
    return atomic_load_explicit(block->bytes_read, memory_order_acquire) == block->bytes_sent;
}

/* A record's word: the position in the file, a multiple of SEND_BUFFER_PAGE, and in its low bits
 * the length in units. */
enum { SEND_BUFFER_PAGE = 4096, SEND_BUFFER_UNIT = 1 << 20 };

void send_buffer_count(uint64_t word, uint64_t position, size_t bytes);

/* This process has copied so many bytes from a member's memory, at this position in the file. */
HOT_INLINE void send_buffer_read(struct layout_member *owner, uint64_t position, size_t bytes)
{
    uint64_t word = atomic_load_explicit(&owner->send_buffer, memory_order_relaxed);
    uint64_t units = word % SEND_BUFFER_PAGE;
    if (UNLIKELY(position - (word - units) < units * SEND_BUFFER_UNIT))
        send_buffer_count(word, position, bytes);
}

#endif
