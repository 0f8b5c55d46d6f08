/* MPI_Alloc_mem returns memory of every size, from zero to several GiB, before any collective call
 * (H29: unusual allocations). Live allocations do not overlap, keep their contents, and can be
 * allocated again after they were freed. Of the large ones only a few pages are touched. */
#include "test.h"

enum { SIZES = 512 };

static struct piece {
    unsigned char *at;
    size_t size;
} pieces[SIZES];
static int count;

/* The byte at an offset depends on the block and on the offset. */
static unsigned char pattern(int piece, size_t offset)
{
    return (unsigned char)(1 + piece + 31 * offset + (offset >> 12));
}

/* All of a small block; the ends and part of the middle of a large one. */
static size_t next_offset(size_t offset, size_t size)
{
    bool near_an_end = offset < 4096 || size - offset <= 4096;
    return offset + (near_an_end || size < 1 << 16 ? 1 : size / 7);
}

static void fill(int i)
{
    for (size_t p = 0; p < pieces[i].size; p = next_offset(p, pieces[i].size))
        pieces[i].at[p] = pattern(i, p);
    if (pieces[i].size)
        pieces[i].at[pieces[i].size - 1] = pattern(i, pieces[i].size - 1);
}

static void verify(int i)
{
    size_t size = pieces[i].size;
    for (size_t p = 0; p < size; p = next_offset(p, size))
        if (pieces[i].at[p] != pattern(i, p)) {
            CHECK(false, "size %zu: byte %zu changed", size, p);
            return;
        }
    CHECK(!size || pieces[i].at[size - 1] == pattern(i, size - 1), "size %zu: last byte", size);
}

static void take(size_t size)
{
    struct piece *p = &pieces[count];
    p->at = NULL;
    p->size = size;
    CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)size, MPI_INFO_NULL, &p->at), MPI_SUCCESS);
    CHECK(p->at || !size, "size %zu: NULL", size);
    CHECK((uintptr_t)p->at % sizeof(long double) == 0, "size %zu: %p", size, (void *)p->at);
    fill(count++);
}

static int by_address(const void *a, const void *b)
{
    const struct piece *p = a, *q = b;
    return p->at < q->at ? -1 : p->at > q->at;
}

static void no_overlap(void)
{
    static struct piece sorted[SIZES];
    memcpy(sorted, pieces, sizeof sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_address);
    for (int i = 1; i < count; i++)
        CHECK(sorted[i - 1].at + sorted[i - 1].size <= sorted[i].at, "%zu bytes at %p, %zu at %p",
              sorted[i - 1].size, (void *)sorted[i - 1].at, sorted[i].size, (void *)sorted[i].at);
}

static void take_all(void)
{
    count = 0;
    for (size_t size = 0; size < 20; size++)
        take(size);
    take(0);
    for (size_t power = 32; power <= 64 << 20; power *= 2) {
        take(power - 1);
        take(power);
        take(power + 1);
        take(power + power / 3);
    }
    take((size_t)1 << 30);
    take(((size_t)2 << 30) + 1); /* more than an int */
    take(((size_t)4 << 30) + 4097);
}

static void free_all(void)
{
    for (int i = 0; i < count; i++)
        CHECK_CLASS(MPI_Free_mem(pieces[i].at), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        take_all();
        no_overlap();
        for (int i = 0; i < count; i++)
            verify(i);
        free_all();
    }
    return test_end();
}
