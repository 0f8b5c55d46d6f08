/* MPI_Compare_and_swap on every datatype that it is defined for: it swaps equal values only,
 * returns the old value, and changes no adjacent byte. Arguments: `unaligned`; `any`: also on the
 * other datatypes, such as MPI_DOUBLE, with hosts that compare their bytes (H21: errors). */
#include "predefined.h"

enum { ROOM = 64, AT = 16 };

static void one(const struct type *t, bool equals, MPI_Aint at, MPI_Win win)
{
    char pattern[ROOM], out[ROOM], compare[32], swap[32], result[32];
    int target = test_next();
    memset(pattern, 0x5a, sizeof pattern);
    value_of(t, 3, pattern + at);
    if (equals)
        memcpy(compare, pattern + at, sizeof compare); /* with the padding of a long double */
    else
        value_of(t, 2, compare);
    value_of(t, 5, swap);
    MPI_Put(pattern, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    MPI_Compare_and_swap(swap, compare, result, t->handle, target, at, win);
    MPI_Win_flush(target, win);
    MPI_Get(out, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    CHECK(!memcmp(result, pattern + at, (size_t)t->size), "%s: result", t->name);
    if (equals)
        memcpy(pattern + at, swap, (size_t)t->size);
    CHECK(!memcmp(out, pattern, ROOM), "%s: memory at %ld, %s", t->name, (long)at,
          equals ? "equal" : "different");
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    bool unaligned = argc > 1 && !strcmp(argv[1], "unaligned");
    bool any = argc > 1 && !strcmp(argv[1], "any");
    char *memory = window_memory(ROOM);
    MPI_Win win = window_over(memory, ROOM, 1);
    MPI_Win_lock_all(0, win);
    for (const struct type *t = predefined_types(); t->name; t++) {
        if (!any && t->kind > INTEGER && t->kind != LOGICAL && t->kind != BYTES)
            continue;
        one(t, true, AT + unaligned, win);
        one(t, false, AT + unaligned, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
