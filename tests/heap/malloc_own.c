/* A program with its own malloc(), which comes before that of the heap, but without reallocarray().
 * That of glibc calls the realloc() of the program. The blocks have a mark in front; free() and
 * realloc() abort if a block has none. */
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { HEADER = 64, ROOM = 256 << 20 };

struct header {
    uint64_t mark;
    size_t size;
};
static const uint64_t mark = UINT64_C(0x6f776e206d616c6c);

static struct header *header_of(void *block)
{
    struct header *h = (struct header *)((char *)block - HEADER);
    if (h->mark != mark)
        abort();
    return h;
}

/* Nothing is used again. */
static void *take(size_t align, size_t size)
{
    static _Atomic uintptr_t next;
    if (!next) {
        uintptr_t none = 0;
        void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        atomic_compare_exchange_strong(&next, &none, (uintptr_t)room);
    }
    uintptr_t at = atomic_fetch_add(&next, size + 2 * HEADER + align) + HEADER;
    char *block = (char *)((at + align - 1) / align * align);
    *(struct header *)(block - HEADER) = (struct header){mark, size};
    return block;
}

void *malloc(size_t size)
{
    return take(HEADER, size);
}

void *calloc(size_t count, size_t size)
{
    return take(HEADER, count * size);
}

void *memalign(size_t align, size_t size)
{
    return take(align < HEADER ? HEADER : align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **result, size_t align, size_t size)
{
    *result = memalign(align, size);
    return 0;
}

void free(void *block)
{
    if (block)
        header_of(block)->mark = 0;
}

void *realloc(void *block, size_t size)
{
    char *other = take(HEADER, size);
    if (!block)
        return other;
    size_t old = header_of(block)->size;
    memcpy(other, block, old < size ? old : size);
    free(block);
    return other;
}

size_t malloc_usable_size(void *block)
{
    return header_of(block)->size;
}

int main(int argc, char **argv)
{
    enum { BLOCKS = 1000 };
    test_begin(&argc, &argv);
    int *numbers = reallocarray(NULL, 10, sizeof *numbers);
    header_of(numbers);
    numbers[9] = 7;
    numbers = reallocarray(numbers, 100000, sizeof *numbers);
    CHECK(numbers[9] == 7 && header_of(numbers)->size == 100000 * sizeof *numbers, "%d",
          numbers[9]);
    /* The library's typemaps grow by reallocarray(). */
    int lengths[BLOCKS], at[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i % 3;
        at[i] = i * 7 + i % 2;
    }
    MPI_Datatype type;
    MPI_Type_indexed(BLOCKS, lengths, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int times = 0; times < 10; times++)
        MPI_Bcast(numbers, 1, type, 0, MPI_COMM_WORLD);
    MPI_Type_free(&type);
    free(numbers);
    return test_end();
}
