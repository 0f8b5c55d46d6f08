/* Origin and target describe the data with different datatypes of equal signature: the data arrive
 * as with MPI_Pack and MPI_Unpack, and bytes in holes are unchanged. Every constructor on either
 * side; put, get, accumulate and get_accumulate. */
#include "layouts.h"

static char here[LAYOUT_ROOM], back[LAYOUT_ROOM], there[LAYOUT_ROOM], expected[LAYOUT_ROOM];
static char packed[4096], other[4096];
static MPI_Win win;

static void fill(char *buffer, int salt)
{
    for (int i = 0; i < LAYOUT_ROOM; i++)
        buffer[i] = (char)(i * 5 + i / 256 + salt);
}

/* The data of a layout in `buffer`, packed; returns their size. */
static int pack(const struct layout *l, const char *buffer, char *to)
{
    int at = 0;
    MPI_Pack(buffer + LAYOUT_AT, l->count, l->type, to, sizeof packed, &at, MPI_COMM_WORLD);
    return at;
}

static void unpack(const struct layout *l, const char *from, int size, char *buffer)
{
    int at = 0;
    MPI_Unpack(from, size, &at, buffer + LAYOUT_AT, l->count, l->type, MPI_COMM_WORLD);
}

static void put_all(const char *buffer)
{
    MPI_Put(buffer, LAYOUT_ROOM, MPI_BYTE, test_next(), 0, LAYOUT_ROOM, MPI_BYTE, win);
    MPI_Win_flush(test_next(), win);
}

static void get_all(char *buffer)
{
    MPI_Win_flush(test_next(), win);
    MPI_Get(buffer, LAYOUT_ROOM, MPI_BYTE, test_next(), 0, LAYOUT_ROOM, MPI_BYTE, win);
    MPI_Win_flush(test_next(), win);
}

static void compare(const char *got, const char *what, const char *element, const struct layout *o,
                    const struct layout *t)
{
    int i = 0;
    while (i < LAYOUT_ROOM && got[i] == expected[i])
        i++;
    CHECK(i == LAYOUT_ROOM, "%s of %s: %s here, %s there: byte %d", what, element, o->name, t->name,
          i - LAYOUT_AT);
}

static void put(const char *element, const struct layout *o, const struct layout *t)
{
    fill(here, 1);
    fill(expected, 2);
    put_all(expected);
    MPI_Put(here + LAYOUT_AT, o->count, o->type, test_next(), LAYOUT_AT, t->count, t->type, win);
    get_all(there);
    unpack(t, packed, pack(o, here, packed), expected);
    compare(there, "put", element, o, t);
}

static void get(const char *element, const struct layout *o, const struct layout *t)
{
    fill(there, 3);
    put_all(there);
    fill(here, 4);
    fill(expected, 4);
    MPI_Get(here + LAYOUT_AT, o->count, o->type, test_next(), LAYOUT_AT, t->count, t->type, win);
    MPI_Win_flush(test_next(), win);
    unpack(o, packed, pack(t, there, packed), expected);
    compare(here, "get", element, o, t);
}

/* The result has the layout of `r`. On bytes: MPI_BXOR shows each of them. */
static void accumulate(const char *element, const struct layout *o, const struct layout *r,
                       const struct layout *t, bool fetch)
{
    fill(here, 5);
    fill(back, 6);
    fill(there, 7);
    put_all(there);
    if (fetch)
        MPI_Get_accumulate(here + LAYOUT_AT, o->count, o->type, back + LAYOUT_AT, r->count, r->type,
                           test_next(), LAYOUT_AT, t->count, t->type, MPI_BXOR, win);
    else
        MPI_Accumulate(here + LAYOUT_AT, o->count, o->type, test_next(), LAYOUT_AT, t->count,
                       t->type, MPI_BXOR, win);
    fill(expected, 6);
    int size = pack(t, there, packed);
    if (fetch) {
        unpack(r, packed, size, expected);
        MPI_Win_flush(test_next(), win);
        compare(back, "fetched", element, r, t);
    }
    pack(o, here, other);
    for (int i = 0; i < size; i++)
        packed[i] ^= other[i];
    memcpy(expected, there, LAYOUT_ROOM);
    unpack(t, packed, size, expected);
    get_all(there);
    compare(there, fetch ? "get_accumulate" : "accumulate", element, o, t);
}

/* All pairs of layouts of an element type. */
static void all_pairs(const char *name, MPI_Datatype element, bool has_bits)
{
    static struct layouts all;
    layouts_make(&all, element);
    for (int o = 0; o < all.count; o++)
        for (int t = 0; t < all.count; t++) {
            const struct layout *mine = &all.list[o], *theirs = &all.list[t],
                                *result = &all.list[(o * 5 + t) % all.count];
            put(name, mine, theirs);
            get(name, mine, theirs);
            if (has_bits) {
                accumulate(name, mine, result, theirs, false);
                accumulate(name, mine, result, theirs, true);
            }
        }
    layouts_free(&all);
}

/* An element of several types, with padding between and after them. */
static MPI_Datatype mixed(void)
{
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT_INT}, type;
    int lengths[] = {1, 1, 3, 1};
    MPI_Aint displs[] = {24, 8, 0, 28};
    MPI_Type_create_struct(4, lengths, displs, types, &type);
    return with_extent(type, 0, 40);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    char *memory = window_memory(LAYOUT_ROOM);
    win = window_over(memory, LAYOUT_ROOM, 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, test_next(), 0, win);
    MPI_Datatype struct_type = mixed();
    all_pairs("int", MPI_INT, true);
    all_pairs("char", MPI_CHAR, false);
    all_pairs("unsigned short", MPI_UNSIGNED_SHORT, true);
    all_pairs("int64", MPI_INT64_T, true);
    all_pairs("double", MPI_DOUBLE, false);
    all_pairs("double and int", MPI_DOUBLE_INT, false);
    all_pairs("struct", struct_type, false);
    MPI_Type_free(&struct_type);
    MPI_Win_unlock(test_next(), win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    return test_end();
}
