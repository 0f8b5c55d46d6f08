/* Data of any datatype may have any alignment, at the origin and at the target. */
#include "predefined.h"

enum { ROOM = 2048, COUNT = 9 };

static void one(const struct type *t, int here, int there, int count, MPI_Win win)
{
    char pattern[ROOM], out[ROOM], data[ROOM], back[ROOM], expected[ROOM];
    int target = test_next(), bytes = count * t->size;
    memset(pattern, 0, ROOM);
    for (int i = 0; i < count; i++) {
        value_of(t, i + 1, data + here + i * t->size);
        value_of(t, 2 * i + 1, pattern + there + i * t->size);
    }
    memcpy(expected, pattern, ROOM);
    MPI_Op op = t->kind == OPAQUE || t->kind == LOGICAL || t->kind == BYTES ? MPI_REPLACE : MPI_SUM;
    for (int i = 0; i < count; i++)
        combine(t, op, expected + there + i * t->size, data + here + i * t->size);
    MPI_Put(pattern, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    MPI_Get_accumulate(data + here, count, t->handle, back + here, count, t->handle, target, there,
                       count, t->handle, op, win);
    MPI_Win_flush(target, win);
    MPI_Get(out, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    for (int i = 0; i < count; i++) {
        CHECK(equal(t, back + here + i * t->size, pattern + there + i * t->size),
              "%s fetched, from %d to %d", t->name, there, here);
        CHECK(equal(t, out + there + i * t->size, expected + there + i * t->size),
              "%s combined, from %d to %d", t->name, here, there);
    }
    memset(out + there, 0, (size_t)bytes);
    memset(expected + there, 0, (size_t)bytes);
    CHECK(!memcmp(out, expected, ROOM), "%s: bytes beside, %d", t->name, there);
    MPI_Put(data + here, count, t->handle, target, there + 1, count, t->handle, win);
    MPI_Win_flush(target, win);
    memset(back, 0, ROOM);
    MPI_Get(back + here + 2, count, t->handle, target, there + 1, count, t->handle, win);
    MPI_Win_flush(target, win);
    CHECK(!memcmp(back + here + 2, data + here, (size_t)bytes), "%s put and got at %d", t->name,
          there + 1);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    char *memory = window_memory(ROOM);
    MPI_Win win = window_over(memory, ROOM, 1);
    MPI_Win_lock_all(0, win);
    for (const struct type *t = predefined_types(); t->name; t++)
        for (int there = 0; there < 18; there += 1 + there % 5) {
            one(t, (there * 3 + 1) % 17, there, 1, win);
            one(t, (there * 5 + 2) % 17, there, COUNT, win);
        }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
