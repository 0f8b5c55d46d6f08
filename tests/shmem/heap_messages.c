/* With MPIACCEL_VERBOSE=1, PE 0 and no other PE logs what was wrong. Argument: the size that the
 * environment sets, or `many`, which is not a size. */
#include "shmem_test.h"

#include <unistd.h>

static FILE *caught;
static int stderr_before;

static void listen(void)
{
    fflush(stderr);
    rewind(caught);
    if (ftruncate(fileno(caught), 0))
        abort();
    stderr_before = dup(STDERR_FILENO);
    dup2(fileno(caught), STDERR_FILENO);
}

/* PE 0 has logged one line that contains both words; other PEs have logged nothing. */
static void heard(const char *one, const char *other)
{
    char text[4096] = "";
    fflush(stderr);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    rewind(caught);
    text[fread(text, 1, sizeof text - 1, caught)] = 0;
    if (test_rank == 0)
        CHECK(strstr(text, one) && strstr(text, other) && strchr(text, '\n') == strrchr(text, '\n'),
              "%s and %s in: %s", one, other, text);
    else
        CHECK(!*text, "%s", text);
}

int main(int argc, char **argv)
{
    const char *size = argc > 1 ? argv[1] : "";
    test_begin(&argc, &argv);
    caught = tmpfile();
    listen();
    void *block = shmem_malloc(1000);
    CHECK(block);
    if (!strcmp(size, "many")) {
        heard("SHMEM_SYMMETRIC_SIZE=many", "is not a size");
        return test_end();
    }
    fflush(stderr);
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);

    listen();
    CHECK(!shmem_malloc((size_t)1 << 45));
    heard("SHMEM_SYMMETRIC_SIZE", size);
    listen();
    CHECK(!shmem_malloc((size_t)1000 + (size_t)test_rank));
    heard("different", "nothing was done");
    listen();
    shmem_free((char *)block + 64);
    heard("not the start of a live block", "nothing was done");
    listen();
    CHECK(!shmem_align(48, 100));
    heard("48", "power of two");
    shmem_free(block);
    return test_end();
}
