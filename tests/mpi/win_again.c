/* Windows that are created after others were freed are as new, whatever the program did to those
 * before: name, error handler, info, attributes and their delete functions, group and predefined
 * attributes are those of a new window. The library uses the host's windows again. Fails if
 * something of an earlier window remains, or if ranks that changed different windows disagree on
 * which of them to use. The argument `plain` leaves out all changes that keep the host's window
 * from being used again. Only hosts for which the ranks share memory are asked for shared windows:
 * MPICH 5.0.2 of Debian sid takes each for a node of its own. */
#include "test.h"

enum { ROUNDS = 48, COMMS = 4, INFO_ROOM = 4096 };

enum kind { CREATE, ALLOCATE, SHARED, KINDS };

static const int flavor_of[KINDS] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                     MPI_WIN_FLAVOR_SHARED};
static bool plain;
static int kinds;
static int keyval, deleted, expected;
static void *memory;

struct window {
    MPI_Win win;
    enum kind kind;
    void *base;
    MPI_Aint bytes;
    int unit;
};

static int delete_attribute(MPI_Win win, int key, void *value, void *state)
{
    (void)win, (void)key, (void)state;
    CHECK(*(int *)value == 42);
    deleted++;
    return MPI_SUCCESS;
}

static void count_error(MPI_Win *win, int *error, ...)
{
    (void)win;
    CHECK_CLASS(*error, MPI_ERR_OTHER);
}

static struct window create(enum kind kind, int round, MPI_Comm comm)
{
    struct window w = {.kind = kind,
                       .base = memory,
                       .bytes = 16 + 8 * (round % 3 + test_rank),
                       .unit = 1 + (round + test_rank) % 4};
    if (kind == CREATE)
        MPI_Win_create(w.base, w.bytes, w.unit, MPI_INFO_NULL, comm, &w.win);
    else if (kind == ALLOCATE)
        MPI_Win_allocate(w.bytes, w.unit, MPI_INFO_NULL, comm, &w.base, &w.win);
    else
        MPI_Win_allocate_shared(w.bytes, w.unit, MPI_INFO_NULL, comm, &w.base, &w.win);
    return w;
}

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int flag = 0;
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag, "keyval %d", key);
    return value;
}

static void check_predefined(const struct window *w)
{
    CHECK(attribute(w->win, MPI_WIN_BASE) == w->base, "%p", attribute(w->win, MPI_WIN_BASE));
    CHECK(*(MPI_Aint *)attribute(w->win, MPI_WIN_SIZE) == w->bytes);
    CHECK(*(int *)attribute(w->win, MPI_WIN_DISP_UNIT) == w->unit);
    CHECK(*(int *)attribute(w->win, MPI_WIN_CREATE_FLAVOR) == flavor_of[w->kind], "kind %d",
          w->kind);
}

/* All keys and values, except for one whose value varies among new windows of Open MPI alone. */
static void describe_info(MPI_Win win, char text[INFO_ROOM])
{
    MPI_Info info;
    int keys;
    text[0] = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int flag;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
        size_t used = strlen(text);
        if (!strcmp(key, "blocking_fence"))
            continue;
        snprintf(text + used, INFO_ROOM - used, "%s=%s\n", key, value);
    }
    MPI_Info_free(&info);
}

/* `number` of the communicator. */
static void check_new(const struct window *w, MPI_Comm comm, int number)
{
    static char first_info[COMMS][KINDS][INFO_ROOM];
    char name[MPI_MAX_OBJECT_NAME] = "?", info[INFO_ROOM], *first = first_info[number][w->kind];
    int length = -1, flag, order;
    void *value;
    MPI_Errhandler handler;
    MPI_Group group, of_comm;

    check_predefined(w);
    MPI_Win_get_name(w->win, name, &length);
    CHECK(length == 0 && !name[0], "it is named %s", name);
    MPI_Win_get_errhandler(w->win, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Win_get_attr(w->win, keyval, &value, &flag);
    CHECK(!flag, "it has an attribute");
    describe_info(w->win, info);
    if (!first[0])
        strcpy(first, info);
    CHECK(!strcmp(info, first), "info:\n%sexpected:\n%s", info, first);
    MPI_Win_get_group(w->win, &group);
    MPI_Comm_group(comm, &of_comm);
    MPI_Group_compare(group, of_comm, &order);
    CHECK(order == MPI_IDENT, "%d", order);
    MPI_Group_free(&group);
    MPI_Group_free(&of_comm);
}

/* Other ranks change other windows. */
static void change(MPI_Win win, int round)
{
    static int value = 42;
    MPI_Errhandler own;
    char name[32];
    snprintf(name, sizeof name, "round %d", round);
    if ((round + test_rank) % 2)
        MPI_Win_set_name(win, name);
    if ((round + test_rank) % 3 == 0) {
        MPI_Win_create_errhandler(count_error, &own);
        MPI_Win_set_errhandler(win, own);
        MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
        MPI_Errhandler_free(&own);
    }
    if (plain)
        return;
    if ((round + test_rank) % 5 == 0) {
        MPI_Win_set_attr(win, keyval, &value);
        expected++;
    }
    if (round % 7 == 0) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "no_locks", "true");
        MPI_Info_set(info, "accumulate_ops", "same_op");
        MPI_Win_set_info(win, info);
        MPI_Info_free(&info);
    }
}

static bool ranks_share_memory(void)
{
    MPI_Comm node;
    int size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == test_size;
}

static void use(const struct window *w, MPI_Comm comm)
{
    int rank, size, value;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    value = 100 + rank;
    MPI_Win_fence(0, w->win);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, w->win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    CHECK(*(int *)w->base == 100 + (rank + size - 1) % size, "%d", *(int *)w->base);
}

/* Some windows at a time. */
static void cycle(int round, int number, MPI_Comm comm)
{
    struct window w[KINDS];
    int count = 1 + round % KINDS;
    for (int i = 0; i < count; i++) {
        w[i] = create((round + i) % kinds, round, comm);
        check_new(&w[i], comm, number);
        change(w[i].win, round + i);
        use(&w[i], comm);
    }
    for (int i = 0; i < count; i++)
        check_predefined(&w[i]);
    for (int i = count; i-- > 0;) {
        MPI_Win_free(&w[i].win);
        CHECK(w[i].win == MPI_WIN_NULL);
    }
    CHECK(deleted == expected, "%d, expected %d", deleted, expected);
}

/* Make communicators of all ranks in reverse order, and of all but the last. Do not use two
 * disjoint communicators: Open MPI 4.1.4 creates files with the same name for their windows. */
static void create_comms(MPI_Comm comms[COMMS])
{
    comms[0] = MPI_COMM_WORLD;
    comms[1] = MPI_COMM_SELF;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < test_size - 1 ? 0 : MPI_UNDEFINED, 0, &comms[3]);
}

static void free_comms(MPI_Comm comms[COMMS])
{
    MPI_Comm_free(&comms[2]);
    if (comms[3] != MPI_COMM_NULL)
        MPI_Comm_free(&comms[3]);
}

/* Called in MPI_Finalize, when windows of the host may have been kept. */
static int at_finalize(MPI_Comm self, int key, void *value, void *state)
{
    (void)self, (void)key, (void)value, (void)state;
    struct window w = create(ALLOCATE, 0, MPI_COMM_WORLD);
    check_predefined(&w);
    use(&w, MPI_COMM_WORLD);
    MPI_Win_free(&w.win);
    return MPI_SUCCESS;
}

static void call_at_finalize(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    plain = argc > 1 && !strcmp(argv[1], "plain");
    kinds = ranks_share_memory() ? KINDS : SHARED;
    memory = window_memory(1024);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, &keyval, NULL);
    MPI_Comm comms[COMMS];
    create_comms(comms);
    for (int round = 0; round < ROUNDS; round++) {
        if (comms[round % COMMS] != MPI_COMM_NULL)
            cycle(round, round % COMMS, comms[round % COMMS]);
        if (round % 8 == 7) { /* others of the same ranks follow */
            free_comms(comms);
            create_comms(comms);
        }
    }
    free_comms(comms);
    struct window last = create(CREATE, 0, MPI_COMM_WORLD);
    check_new(&last, MPI_COMM_WORLD, 0);
    MPI_Win_free(&last.win);
    MPI_Win_free_keyval(&keyval);
    MPI_Free_mem(memory);
    call_at_finalize();
    return test_end(); /* the host's windows are freed in MPI_Finalize */
}
