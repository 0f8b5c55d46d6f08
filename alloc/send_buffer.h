/* The send buffer: memory of this process in the node's file from which the host sends buffered
 * messages. Receivers that copy out of it count the bytes that they have read
 * (pmpi_wrap/process_vm_entry.h), so the sender detects that a message has been received before the
 * host reports it.
 *
 *     bytes read, per page | first page of the message, per page | pages
 *
 * Writers: each receiver that copies a part of a message adds the length of that part to the
 * counter `bytes read` of the message's first page, with release after the copy. The owner writes
 * the first pages before the host sends the message. The owner's record holds the position and the
 * length of the send buffer in one word, so a reader never sees half of a change. These words need
 * no further order between sender and receiver, since the host's message orders them.
 *
 * A receiver that truncates the message, copies it by the OS, or dies does not count all bytes.
 * Such a message counts as received when the host reports it.
 *
 * Threads: a lock protects the list of free pages. A block belongs to the thread that has taken it.
 */
#ifndef MPIACCEL_SEND_BUFFER_H
#define MPIACCEL_SEND_BUFFER_H

#include "core/layout.h"

/* Memory for a message. */
struct send_block {
    char *at; /* NULL: none */
    size_t size;
    const _Atomic uint64_t *bytes_read; /* modulo 2^64, over all messages that ever began here */
    uint64_t bytes_sent; /* bytes sent, in all messages; equal to *bytes_read when all are read */
};

/* Make room for messages of `bytes` bytes in total. Memory is allocated with the first message. */
void send_buffer_open(size_t bytes);

/* Call when the send buffer holds no message, except for messages that have been received but that
 * the host has not completed yet. A small send buffer keeps its memory. */
void send_buffer_close(void);

struct send_block send_buffer_take(size_t bytes);
void send_buffer_give(const struct send_block *block);

/* Call when the host begins to send the first `bytes` bytes of the block. */
static inline void send_buffer_sent(struct send_block *block, size_t bytes)
{
    block->bytes_sent += bytes;
}

static inline bool send_buffer_is_read(const struct send_block *block)
{
    /* Acquire: the receivers' reads come before the owner's next writes to the block. */
    return atomic_load_explicit(block->bytes_read, memory_order_acquire) == block->bytes_sent;
}

/* The word in the owner's record: the position in the file, a multiple of SEND_BUFFER_PAGE, plus
 * the length in units of SEND_BUFFER_UNIT. */
enum { SEND_BUFFER_PAGE = 4096, SEND_BUFFER_UNIT = 1 << 20 };

void send_buffer_count(uint64_t word, uint64_t position, size_t bytes);

/* Call when this process has copied `bytes` bytes of a member's memory, from this position in the
 * file. */
HOT_INLINE void send_buffer_read(struct layout_member *owner, uint64_t position, size_t bytes)
{
    uint64_t word = atomic_load_explicit(&owner->send_buffer, memory_order_relaxed);
    uint64_t units = word % SEND_BUFFER_PAGE;
    if (UNLIKELY(position - (word - units) < units * SEND_BUFFER_UNIT))
        send_buffer_count(word, position, bytes);
}

#endif
