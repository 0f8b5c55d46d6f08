/* A communicator that is created from one with a team has its team in its first collective call,
 * whichever call creates it, and whatever happens to its parent meanwhile. So a communicator of two
 * calls leaves neither to the host. */
#include "coll.h"

/* Two collective calls, of which the second does not synchronise. */
static void use(MPI_Comm comm, int mark, const char *what)
{
    int me, size, sum = -1;
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    int value = mark + 3 * me;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * mark + 3 * size * (size - 1) / 2, "%s, %d: %d", what, mark, sum);
    value = me == mark % size ? mark : -1;
    MPI_Bcast(&value, 1, MPI_INT, mark % size, comm);
    CHECK(value == mark, "%s, %d: %d", what, mark, value);
}

static void use_and_free(MPI_Comm *comm, int mark, const char *what)
{
    use(*comm, mark, what);
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

/* ---- the calls that create communicators ---- */

static MPI_Comm split(MPI_Comm parent, int colour, int key)
{
    MPI_Comm comm;
    MPI_Comm_split(parent, colour, key, &comm);
    return comm;
}

/* The ranks of the parent from `first` on, in the reverse order. */
static MPI_Comm backwards_from(MPI_Comm parent, int first)
{
    MPI_Group all, some;
    MPI_Comm comm;
    int ranks[64], size;
    MPI_Comm_size(parent, &size);
    for (int r = first; r < size; r++)
        ranks[r - first] = size - 1 - r + first;
    MPI_Comm_group(parent, &all);
    MPI_Group_incl(all, size - first, ranks, &some);
    MPI_Comm_create(parent, some, &comm);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return comm;
}

static MPI_Comm grid(MPI_Comm parent, int reorder)
{
    int size, dims[2] = {0, 0};
    MPI_Comm comm;
    MPI_Comm_size(parent, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(parent, 2, dims, (int[]){1, 0}, reorder, &comm);
    return comm;
}

static MPI_Comm graph(MPI_Comm parent)
{
    int size, index[64], edges[64];
    MPI_Comm comm;
    MPI_Comm_size(parent, &size);
    for (int r = 0; r < size; r++) {
        index[r] = r + 1;
        edges[r] = (r + 1) % size;
    }
    MPI_Graph_create(parent, size, index, edges, 1, &comm);
    return comm;
}

/* Do not let the host reorder the ranks: Open MPI 4.1 then ends the job on an oversubscribed
 * node. */
static MPI_Comm distributed_graph(MPI_Comm parent, bool adjacent)
{
    int me, size, one = 1;
    MPI_Comm comm;
    MPI_Comm_rank(parent, &me);
    MPI_Comm_size(parent, &size);
    int next = (me + 1) % size, previous = (me + size - 1) % size;
    if (adjacent)
        MPI_Dist_graph_create_adjacent(parent, 1, &previous, &one, 1, &next, &one, MPI_INFO_NULL, 0,
                                       &comm);
    else
        MPI_Dist_graph_create(parent, 1, &me, &one, &next, &one, MPI_INFO_NULL, 0, &comm);
    return comm;
}

enum {
    DUP,
    DUP_INFO,
    KEYS,
    HALVES,
    SOME,
    TYPE,
    CREATE,
    PART,
    GRID,
    ROWS,
    GRAPH,
    DIST,
    NEAR,
    CALLS
};

static MPI_Comm create(MPI_Comm parent, int call)
{
    MPI_Comm comm = MPI_COMM_NULL, cart;
    int me;
    MPI_Comm_rank(parent, &me);
    switch (call) {
    case DUP:
        MPI_Comm_dup(parent, &comm);
        break;
    case DUP_INFO:
        MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, &comm);
        break;
    case TYPE:
        MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &comm);
        break;
    case ROWS:
        cart = grid(parent, 0);
        MPI_Cart_sub(cart, (int[]){me >= 0, 0}, &comm);
        MPI_Comm_free(&cart);
        break;
    default:
        comm = call == KEYS     ? split(parent, 0, -me)
               : call == HALVES ? split(parent, me % 2, me)
               : call == SOME   ? split(parent, me ? 1 : MPI_UNDEFINED, -me)
               : call == CREATE ? backwards_from(parent, 0)
               : call == PART   ? backwards_from(parent, 1)
               : call == GRID   ? grid(parent, 1)
               : call == GRAPH  ? graph(parent)
                                : distributed_graph(parent, call == NEAR);
    }
    return comm;
}

static void each_call(MPI_Comm parent, int mark)
{
    for (int call = 0; call < CALLS; call++) {
        MPI_Comm comm = create(parent, call), child = MPI_COMM_NULL;
        int size = 1;
        if (comm != MPI_COMM_NULL)
            MPI_Comm_size(comm, &size);
        if (size > 1) /* one that has made no call */
            child = create(comm, (call + mark) % CALLS);
        use_and_free(&comm, mark + call, "a child");
        use_and_free(&child, mark + call, "a child of a child");
    }
}

/* ---- the order of events ---- */

/* More children than the ring of offers has entries; their parent may be freed before they are
 * used.
 */
static void many_at_once(bool free_parent)
{
    enum { MANY = 41 };
    MPI_Comm parent, comm[MANY];
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    for (int i = 0; i < MANY; i++)
        comm[i] = create(parent, i % CALLS);
    if (free_parent)
        MPI_Comm_free(&parent);
    for (int i = 0; i < MANY; i += 3)
        if (comm[i] != MPI_COMM_NULL)
            MPI_Comm_free(&comm[i]);
    for (int i = MANY - 1; i >= 0; i--)
        use_and_free(&comm[i], i, "one of many");
    if (!free_parent)
        MPI_Comm_free(&parent);
}

/* A chain of communicators, each created from the one before, which is freed. */
static void chain(void)
{
    MPI_Comm comm, next;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 30; i++) {
        next = i % 3 ? split(comm, 0, -test_rank) : create(comm, DUP);
        MPI_Comm_free(&comm);
        comm = next;
    }
    use_and_free(&comm, 5, "the end of a chain");
}

/* A rank alone makes calls that the host refuses. */
static void refused_on_one_rank(void)
{
    MPI_Comm parent, comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    for (int i = 0; i < 40; i++) {
        for (int times = 0; times < (test_rank == i % test_size ? i % 3 : 0); times++)
            CHECK(MPI_Cart_create(parent, -1, NULL, NULL, 0, &comm) != MPI_SUCCESS);
        comm = create(parent, i % CALLS);
        if (i % 4)
            use(comm, i, "after a refused call");
        if (comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
    }
    MPI_Comm_free(&parent);
}

static int copies;
static MPI_Comm kept;

/* Creates communicators from the one that is being duplicated. */
static int copy(MPI_Comm comm, int key, void *state, void *value, void *result, int *flag)
{
    (void)key, (void)state, (void)value, (void)result;
    MPI_Comm inner;
    *flag = 0;
    if (++copies > 20)
        return MPI_SUCCESS;
    kept = split(comm, 0, -test_rank);
    inner = split(comm, test_rank % 2, 0);
    use_and_free(&inner, copies, "one that a copy function uses");
    return MPI_SUCCESS;
}

static void nested(void)
{
    int key;
    MPI_Comm parent, comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(parent, key, NULL);
    for (int i = 0; i < 20; i++) {
        MPI_Comm_dup(parent, &comm);
        use_and_free(i % 2 ? &comm : &kept, i, "one of two");
        use_and_free(i % 2 ? &kept : &comm, i, "the other one");
    }
    CHECK(copies == 20);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&parent);
}

/* The first call is made by a delete function. That call is left to the host, since other ranks may
 * not have read the offers. */
static int deleted;

static int delete (MPI_Comm comm, int key, void *value, void *state)
{
    (void)key, (void)value, (void)state;
    int size, all[64] = {0};
    MPI_Comm_size(comm, &size);
    MPI_Allgather(&size, 1, MPI_INT, all, 1, MPI_INT, comm);
    CHECK(all[size - 1] == size);
    deleted++;
    return MPI_SUCCESS;
}

static void used_when_freed(void)
{
    int key;
    MPI_Comm comm[40];
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL);
    for (int i = 0; i < 40; i++) {
        comm[i] = split(MPI_COMM_WORLD, 0, -test_rank);
        MPI_Comm_set_attr(comm[i], key, NULL);
    }
    for (int i = 0; i < 40; i++)
        MPI_Comm_free(&comm[i]);
    CHECK(deleted == 40);
    MPI_Comm_free_keyval(&key);
}

/* ---- how many ---- */

static void cycles(int times)
{
    MPI_Comm comm;
    for (int i = 0; i < times; i++) {
        comm = create(MPI_COMM_WORLD, i % 2 ? DUP : KEYS);
        if (i % 3)
            use(comm, i, "one in a loop");
        MPI_Comm_free(&comm);
    }
}

static void alive(int number)
{
    MPI_Comm *comm = malloc((size_t)number * sizeof(MPI_Comm));
    for (int i = 0; i < number; i++) {
        comm[i] = create(MPI_COMM_WORLD, i % CALLS);
        use(comm[i], i, "one that stays");
    }
    for (int i = 0; i < number; i++)
        use_and_free(&comm[i * 7 % number], i, "one that has stayed");
    free(comm);
}

int main(int argc, char **argv)
{
    coll_begin(&argc, &argv);
    int number = argc > 1 ? atoi(argv[1]) : 1500;
    coll_warm(MPI_COMM_WORLD);
    for (int i = 0; i < CALLS; i++)
        each_call(MPI_COMM_WORLD, i);
    many_at_once(false);
    many_at_once(true);
    chain();
    refused_on_one_rank();
    nested();
    used_when_freed();
    cycles(7 * number);
    alive(number);
    return test_end();
}
