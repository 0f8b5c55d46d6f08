/* The library's name and version, the thread levels, and shmem_global_exit, which one PE calls for
 * all. Argument: the status that it passes. */
#include "shmem_test.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    bool early = argc > 1;
    int provided = -1, level, thread_level, major, minor;
    char name[SHMEM_MAX_NAME_LEN];
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Query_thread(&thread_level);
    shmem_query_thread(&level);
    CHECK(level == provided &&
          (level == SHMEM_THREAD_MULTIPLE) == (thread_level == MPI_THREAD_MULTIPLE));
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    CHECK(!strcmp(name, SHMEM_VENDOR_STRING));
    shmem_sync_all();
    if (early && shmem_my_pe() == 1 && !test_failures)
        shmem_global_exit(atoi(argv[1]));
    shmem_barrier_all();
    while (early && !test_failures)
        sleep(1); /* until the job is ended */
    shmem_finalize();
    return test_failures ? 1 : 0;
}
