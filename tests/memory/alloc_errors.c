/* Invalid sizes, infos and addresses return the standard's error class, through one call of an
 * error handler, and change nothing. The handler is that of MPI_COMM_WORLD, or since MPI-4 that of
 * MPI_COMM_SELF; hosts differ.
 *
 *   alloc_errors          MPI_Alloc_mem: any host's results
 *   alloc_errors handled  only the calls of the handler: MPICH 5.0 then returns MPI_SUCCESS
 *   alloc_errors free     MPI_Free_mem: results that are undefined with hosts alone (H27: wrong
 *                         frees)
 */
#include "test.h"

static int calls, last_class;
static MPI_Comm last_comm, expected_comm;
static bool only_handled;

static void note(MPI_Comm *comm, int *error, ...)
{
    last_comm = *comm;
    calls++;
    MPI_Error_class(*error, &last_class);
}

/* The call fails, with one call of the handler. */
#define CHECK_ERROR(call, expected)                                                            \
    do {                                                                                       \
        calls = 0;                                                                             \
        int returned = class_of(call);                                                         \
        CHECK(only_handled || returned == (expected), "%s: class %d", #call, returned);        \
        CHECK(calls == 1 && last_class == (expected), "%s: handler called %d times, class %d", \
              #call, calls, last_class);                                                       \
        CHECK(last_comm == expected_comm, "%s: the handler of another communicator", #call);   \
    } while (0)

/* The communicator whose handler the host calls for errors without a communicator. */
static void find_expected_comm(void)
{
    MPI_Datatype none;
    MPI_Type_contiguous(-1, MPI_INT, &none);
    expected_comm = last_comm;
}

static void of_sizes(void)
{
    void *at, *untouched = &at;
    at = untouched;
    CHECK_ERROR(MPI_Alloc_mem(-1, MPI_INFO_NULL, &at), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Alloc_mem(INTPTR_MIN, MPI_INFO_NULL, &at), MPI_ERR_ARG);
    CHECK_ERROR(MPI_Alloc_mem(INTPTR_MAX, MPI_INFO_NULL, &at), MPI_ERR_NO_MEM);
    CHECK_ERROR(MPI_Alloc_mem((MPI_Aint)1 << 50, MPI_INFO_NULL, &at), MPI_ERR_NO_MEM);
    CHECK_ERROR(MPI_Alloc_mem(8, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
#if defined(OPEN_MPI) || defined(MPICH_NUMVERSION) /* MPICH 5.0's libmpi_abi crashes, alone too */
    CHECK_ERROR(MPI_Alloc_mem(8, (MPI_Info)0, &at), MPI_ERR_INFO);
#endif
}

static void of_addresses(void)
{
    char *small, *large, *live;
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &live);
    memset(live, 7, 1000);
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &small);
    MPI_Alloc_mem(50 << 20, MPI_INFO_NULL, &large);
    memset(small, 1, 1000);
    memset(large, 2, 50 << 20);
    static const size_t interior[] = {1, 8, 63, 64, 128, 512, 999};
    for (size_t i = 0; i < sizeof interior / sizeof *interior; i++) {
        CHECK_ERROR(MPI_Free_mem(small + interior[i]), MPI_ERR_BASE);
        CHECK_ERROR(MPI_Free_mem(large + interior[i]), MPI_ERR_BASE);
    }
    CHECK_ERROR(MPI_Free_mem(large + (25 << 20)), MPI_ERR_BASE);
    for (int i = 0; i < 1000; i++)
        CHECK(small[i] == 1, "byte %d: %d", i, small[i]);
    for (int i = 0; i < 50 << 20; i += 4000)
        CHECK(large[i] == 2, "byte %d: %d", i, large[i]);
    CHECK_CLASS(MPI_Free_mem(small), MPI_SUCCESS);
    CHECK_CLASS(MPI_Free_mem(large), MPI_SUCCESS);
    CHECK_ERROR(MPI_Free_mem(small), MPI_ERR_BASE);
    CHECK_ERROR(MPI_Free_mem(large), MPI_ERR_BASE);
    CHECK_ERROR(MPI_Free_mem(small), MPI_ERR_BASE);
    for (int i = 0; i < 1000; i++)
        CHECK(live[i] == 7, "byte %d: %d", i, live[i]);
    CHECK_CLASS(MPI_Free_mem(live), MPI_SUCCESS);
}

/* A block that was freed twice is not allocated twice. */
static void allocator_is_well(void)
{
    enum { PIECES = 300 };
    static char *at[PIECES];
    static const size_t sizes[] = {1000, 64, 4096, 50000};
    for (int i = 0; i < PIECES; i++) {
        MPI_Alloc_mem((MPI_Aint)sizes[i % 4], MPI_INFO_NULL, &at[i]);
        memset(at[i], i, sizes[i % 4]);
    }
    for (int i = 0; i < PIECES; i++) {
        for (size_t p = 0; p < sizes[i % 4]; p++)
            if (at[i][p] != (char)i) {
                CHECK(false, "piece %d, byte %zu: %d", i, p, at[i][p]);
                break;
            }
        CHECK_CLASS(MPI_Free_mem(at[i]), MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    find_expected_comm();
    only_handled = argc > 1 && !strcmp(argv[1], "handled");
    if (argc > 1 && !strcmp(argv[1], "free"))
        of_addresses();
    else
        of_sizes();
    allocator_is_well();
    MPI_Errhandler_free(&handler);
    return test_end();
}
