/* Helpers of the tests of collectives: sizes, data that identify their sender and receiver, and
 * buffers that detect writes beside them. */
#ifndef COLL_H
#define COLL_H

#include "test.h"

/* Bytes: around each size at which an implementation may choose another algorithm. */
static const int coll_sizes[] = {0,     1,     8,     100,   128,       200,    256,   260,
                                 4095,  4096,  4097,  8191,  8192,      8193,   16383, 16384,
                                 16385, 32767, 32768, 32769, 100 << 10, 1 << 20};
enum { COLL_SIZES = sizeof coll_sizes / sizeof *coll_sizes };

/* Where buffers come from. MIXED differs from rank to rank and from call to call. */
enum coll_source { MIXED, MALLOC, ALLOC_MEM };
static enum coll_source coll_source;

/* Number of the call, the same on all ranks; each call has different data. */
static unsigned coll_turn;

static inline void coll_begin(int *argc, char ***argv)
{
    test_begin(argc, argv);
    for (int i = 1; i < *argc; i++)
        coll_source = !strcmp((*argv)[i], "malloc")  ? MALLOC
                      : !strcmp((*argv)[i], "alloc") ? ALLOC_MEM
                                                     : coll_source;
}

/* An implementation may set up a communicator during its first calls. */
static inline void coll_warm(MPI_Comm comm)
{
    for (int i = 0; i < 8; i++)
        MPI_Barrier(comm);
}

/* ---- data ---- */

/* Byte i of the data from rank `from` to rank `to` in this call. */
static inline char coll_byte(int from, int to, size_t i)
{
    uint32_t seed = (uint32_t)from * 40503u + (uint32_t)to * 8191u + coll_turn * 127u + 1;
    return (char)((((uint32_t)i + seed) * 2654435761u) >> 23);
}

static inline void coll_fill(void *memory, size_t bytes, int from, int to)
{
    char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        at[i] = coll_byte(from, to, i);
}

static inline void coll_expect(const char *what, const void *memory, size_t bytes, int from, int to)
{
    const char *at = memory;
    size_t i = 0;
    while (i < bytes && at[i] == coll_byte(from, to, i))
        i++;
    CHECK(i == bytes, "%s: byte %zu of %zu from %d for %d, turn %u", what, i, bytes, from, to,
          coll_turn);
}

/* ---- buffers ---- */

enum { COLL_GUARD = 64, COLL_MARK = 0x5a };

struct buffer {
    char *memory, *data;
    size_t bytes;
    bool allocated; /* by MPI_Alloc_mem */
};

/* Memory that is filled with COLL_MARK, `shift` bytes off a good alignment. */
static inline struct buffer buffer_shifted(size_t bytes, int shift)
{
    struct buffer b = {.bytes = bytes};
    static unsigned number;
    unsigned dice = (++number * 7 + (unsigned)test_rank * 5 + coll_turn * 3) * 2654435761u >> 28;
    size_t whole = bytes + 2 * COLL_GUARD;
    b.allocated = coll_source == ALLOC_MEM || (coll_source == MIXED && dice % 2);
    if (b.allocated)
        MPI_Alloc_mem((MPI_Aint)whole, MPI_INFO_NULL, &b.memory);
    else
        b.memory = malloc(whole);
    memset(b.memory, COLL_MARK, whole);
    b.data = b.memory + COLL_GUARD + shift;
    return b;
}

static inline struct buffer buffer_make(size_t bytes)
{
    return buffer_shifted(bytes, 0);
}

/* Whether all of these bytes still are COLL_MARK. */
static inline bool coll_untouched(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at != COLL_MARK)
            return false;
    return true;
}

static inline void buffer_free(struct buffer *b)
{
    const char *end = b->memory + b->bytes + 2 * COLL_GUARD;
    CHECK(coll_untouched(b->memory, b->data), "written before a buffer of %zu, turn %u", b->bytes,
          coll_turn);
    CHECK(coll_untouched(b->data + b->bytes, end), "written behind a buffer of %zu, turn %u",
          b->bytes, coll_turn);
    if (b->allocated)
        MPI_Free_mem(b->memory);
    else
        free(b->memory);
    b->memory = b->data = NULL;
}

#endif
