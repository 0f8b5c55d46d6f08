#include "pmpi_wrap/abi/buffered_sends/buffer.h"

#include "bsend/in_flight.h"
#include "core/config.h"
#include "core/copy_policy.h"
#include "node/node.h"
#include "pmpi_wrap/abi/deferral.h"
#include "pmpi_wrap/abi/memory/gpu_memory.h"
#include "pmpi_wrap/abi/private_comm.h"
#include "pmpi_wrap/quirks.h"

#include <limits.h>

struct attached_buffer attached_buffer = {.copied_from = SIZE_MAX, .room = UINT64_MAX};

static _Atomic bool left_to_host, finished, is_open;

/* Bytes of the buffer that the library provides for MPI_BUFFER_AUTOMATIC. */
static const uint64_t automatic_bytes = UINT64_C(1) << 26;

static uint64_t bytes_in(const void *buffer, MPI_Count size)
{
    return buffer == MPI_BUFFER_AUTOMATIC ? automatic_bytes : (uint64_t)size;
}

/* ---- attaching ---- */

static bool is_sent(uintptr_t *bits)
{
    MPI_Request request = HANDLE_OF(MPI_Request, *bits);
    int complete;
    int result = host.Test(&request, &complete, MPI_STATUS_IGNORE);
    *bits = BITS(request);
    return complete || result != MPI_SUCCESS;
}

static void read_tag_limit(void)
{
    if (!attached_buffer.max_tag)
        attached_buffer.max_tag = largest_tag();
    attached_buffer.world_size = node_world_size();
}

/* Returns false if the host sends all messages. */
static bool open_buffer(uint64_t bytes, bool fast)
{
    struct attached_buffer *b = &attached_buffer;
    if (left_to_host || finished)
        return false;
    /* Open MPI 4.1 reports success for a second attach, and ignores it. */
    uint64_t room = is_open ? min_size(b->room, bytes) : bytes;
    b->room = room;
    b->given = 0;
    is_open = true;
    b->is_fast = fast;
    read_tag_limit();
    b->nontemporal = copy_policy_configured(node.header->copy_policy) & COPY_POLICY_NONTEMPORAL;
    bool completes_late = quirk(QUIRK_BSEND_COMPLETES_LATE);
    uint32_t limit = quirk(QUIRK_ISEND_LIMIT);
    in_flight_open(&(struct in_flight_limits){.room = room,
                                              .overhead = MPI_BSEND_OVERHEAD,
                                              .copies = limit ? limit : UINT32_MAX,
                                              .shared = fast || completes_late,
                                              .wait_ns = config.bsend_wait * UINT64_C(1000000),
                                              .is_sent = is_sent});
    if (completes_late || (fast && copy_policy_replaces_host_copies() && !b->nontemporal))
        b->copied_from = quirk(QUIRK_EAGER_BYTES);
    if (quirk(QUIRK_BSEND_WAITS) && fast) {
        if (b->complete_at_once == HANDLE_OF(MPI_Request, 0))
            complete_request(&b->complete_at_once);
        b->guarded = true;
    }
    return true;
}

/* Returns whether messages were fast. */
static bool close_buffer(void)
{
    struct attached_buffer *b = &attached_buffer;
    bool was_fast = b->is_fast;
    b->copied_from = SIZE_MAX;
    b->guarded = is_open = b->is_fast = false;
    b->room = left_to_host ? 0 : UINT64_MAX;
    in_flight_close();
    return was_fast;
}

static enum reason reason_to_defer(void)
{
    return !node.header ? node.why_not : gpu_memory_possible() ? REASON_GPU : REASON_NONE;
}

int buffer_attached(enum call call, const void *buffer, MPI_Count size, int result)
{
    if (result != MPI_SUCCESS)
        return result;
    enum reason reason = reason_to_defer();
    if (reason == REASON_NOT_INITIALISED)
        attached_buffer.room = 0; /* unknown: each message makes room first */
    if (reason == REASON_NONE && !open_buffer(bytes_in(buffer, size), config.bsend))
        reason = REASON_HOST_BUFFERS;
    if (reason == REASON_NONE && config.bsend)
        thread_count(thread_self(), call, 0);
    else
        note_deferred(call, config.bsend ? reason : REASON_OFF);
    return result;
}

int buffer_detached(enum call call, int result)
{
    if (result == MPI_SUCCESS && close_buffer())
        thread_count(thread_self(), call, 0);
    else
        note_deferred(call, REASON_NO_BUFFER);
    return result;
}

void buffer_leave_to_host(enum call call)
{
    left_to_host = true;
    attached_buffer.room = 0; /* the room of other buffers is unknown */
    attached_buffer.guarded = false;
    attached_buffer.copied_from = SIZE_MAX;
    note_deferred(call, REASON_HOST_BUFFERS);
}

void buffer_finish(void)
{
    in_flight_finish();
    close_buffer();
    finished = true;
    attached_buffer.complete_at_once = HANDLE_OF(MPI_Request, 0);
}

void buffer_reopen(void)
{
    finished = false;
}
