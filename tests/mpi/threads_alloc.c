/* Threads allocate and free window memory of many sizes, and free what other threads have
 * allocated. Fails if two live allocations overlap (H25: threads; H29: unusual allocations). */
#include "threads.h"

#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 400, SLOTS = 16 };

static _Atomic(unsigned char *) shelf[SLOTS]; /* a block: its size, then equal bytes */
static _Atomic int wrong;

static void put_down(unsigned char *memory)
{
    size_t bytes;
    memcpy(&bytes, memory, sizeof bytes);
    for (size_t i = sizeof bytes; i < bytes; i++)
        if (memory[i] != (unsigned char)bytes) {
            wrong++;
            break;
        }
    wrong += MPI_Free_mem(memory) != MPI_SUCCESS;
}

static void *work(void *number)
{
    unsigned seed = (unsigned)(intptr_t)number + 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        size_t bytes = sizeof bytes + (seed >> 8) % (i % 50 ? 5000 : 300000);
        unsigned char *memory;
        if (MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &memory) != MPI_SUCCESS) {
            wrong++;
            continue;
        }
        memset(memory, (int)(unsigned char)bytes, bytes);
        memcpy(memory, &bytes, sizeof bytes);
        unsigned char *other = atomic_exchange(&shelf[(seed >> 4) % SLOTS], memory);
        if (other)
            put_down(other);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (!threads_begin(&argc, &argv))
        return TEST_SKIPPED;
    threads_run(THREADS, work);
    for (int i = 0; i < SLOTS; i++)
        if (shelf[i])
            put_down(shelf[i]);
    CHECK(!wrong, "%d times", (int)wrong);
    return test_end();
}
