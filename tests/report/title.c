/* Moves its environment and writes a title over the old one, as setproctitle() does. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { MIB = 1 << 20 };

/* The environment follows the arguments on the stack, except what setenv() has added. */
static void overwrite(char **argv)
{
    size_t count = 0;
    char *end = argv[0];
    while (environ[count])
        count++;
    char **moved = calloc(count + 1, sizeof *moved);
    for (size_t i = 0; i < count; i++) {
        if (environ[i] > end && environ[i] < argv[0] + MIB)
            end = environ[i] + strlen(environ[i]);
        moved[i] = strdup(environ[i]);
    }
    environ = moved;
    memset(argv[0], 'x', (size_t)(end - argv[0]));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    overwrite(argv);
    MPI_Finalize();
    return 0;
}
