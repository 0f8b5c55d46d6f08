/* A program that closes descriptors that are not its own, as daemons do, keeps its blocks, and a
 * child of fork finds their contents, also if the numbers then belong to other files.
 *
 *   malloc_closed        descriptors are closed after MPI_Init
 *   malloc_closed early  before MPI_Init; then the blocks from before are not shared */
#include "where.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 300000, NUMBERS = 512 };

static unsigned close_files(int closed[NUMBERS])
{
    char link[64], target[64];
    unsigned count = 0;
    for (int file = 3; file < 1024; file++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        if (strstr(target, "memfd:mpiaccel") && count < NUMBERS && !close(file))
            closed[count++] = file;
    }
    return count;
}

static void check_in_child(const char *block, const char *what)
{
    int status;
    pid_t pid = fork();
    if (!pid) {
        alarm(10); /* if the fork itself has not ended, tests/run ends the test */
        _exit(!holds(block, LENGTH, 5));
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "%s", what);
}

static void close_and_check(void)
{
    int closed[NUMBERS];
    char *block = malloc(LENGTH), *empty = calloc(1, (size_t)10 * LENGTH);
    fill(block, LENGTH, 5);
    check_in_child(block, "before");
    unsigned count = close_files(closed);
    CHECK(!has_heap() || count);
    check_in_child(block, "closed");
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < count; i++)
        CHECK(dup2(other, closed[i]) == closed[i]);
    check_in_child(block, "other files");
    for (unsigned i = 0; i < count; i++)
        close(closed[i]);
    close(other);
    CHECK(holds(block, LENGTH, 5) && !empty[LENGTH]);
    free(block);
    free(empty);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        close_and_check();
    test_begin(&argc, &argv);
    if (argc <= 1)
        close_and_check();
    char *block = malloc(LENGTH), *data = malloc(LENGTH);
    fill(block, LENGTH, 5);
    check_in_child(block, "new");
    for (int i = 0; i < 6; i++) {
        memset(data, test_rank, LENGTH);
        MPI_Bcast(data, LENGTH, MPI_CHAR, i % test_size, MPI_COMM_WORLD);
        CHECK(data[LENGTH - 1] == i % test_size);
    }
    free(block);
    free(data);
    return test_end();
}
