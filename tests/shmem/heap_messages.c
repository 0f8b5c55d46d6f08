/* At MPIACCEL_VERBOSE=1 who has no room learns the name of the setting. */
#include "shmem_test.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    FILE *said = tmpfile();
    fflush(stderr);
    int stderr_before = dup(STDERR_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    CHECK(!shmem_malloc((size_t)1 << 45));
    fflush(stderr);
    dup2(stderr_before, STDERR_FILENO);
    char text[4096] = "";
    rewind(said);
    size_t length = fread(text, 1, sizeof text - 1, said);
    text[length] = 0;
    if (test_rank == 0)
        CHECK(strstr(text, "SHMEM_SYMMETRIC_SIZE") && strstr(text, "16777216"), "%s", text);
    return test_end();
}
