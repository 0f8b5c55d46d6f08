/* A child of fork does not take huge pages for copies of blocks that are far from each other. */
#include "process_memory.h"
#include "where.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 20, FEW = 20000, MANY = 3 << 20, MOST_KIB = 20 * 1024 };

int main(int argc, char **argv)
{
    char *block[BLOCKS];
    int status;
    test_begin(&argc, &argv);
    for (unsigned i = 0; i < BLOCKS; i++)
        block[i] = malloc(MANY);
    for (unsigned i = 0; i < BLOCKS; i++)
        fill(block[i] = realloc(block[i], FEW), FEW, i);
    CHECK(is_shared(block[0]) == has_heap());
    long before = status_kib("RssAnon:");
    pid_t child = fork();
    if (!child) {
        bool wrong = status_kib("RssAnon:") > before + MOST_KIB;
        for (unsigned i = 0; i < BLOCKS; i++)
            wrong |= !holds(block[i], FEW, i);
        _exit(wrong);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        free(block[i]);
    return test_end();
}
