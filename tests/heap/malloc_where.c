/* Prints where a long block of malloc is from before MPI_Init, and one from after it: shared or
 * private. usage: malloc_where BYTES [fill] */
#include "where.h"

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : MINIMUM;
    char *before = malloc(size);
    bool shared = is_shared(before);
    test_begin(&argc, &argv);
    char *after = malloc(size);
    memset(after, 1, size);
    if (!test_rank)
        printf("%s %s\n", shared ? "shared" : "private", is_shared(after) ? "shared" : "private");
    free(before);
    free(after);
    return test_end();
}
