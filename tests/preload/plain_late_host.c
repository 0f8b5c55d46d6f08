/* Makes a call while the process has no MPI, then loads the MPI and uses it (H2: the host is loaded
 * late, or locally). Arguments: the MPI's library, the name of the call, its result before
 * MPI_Init, and its result after MPI_Init; `-`: it is not called again. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

/* The null pointers are for MPI_Init; other calls have no arguments. */
static void expect(const char *name, const char *result)
{
    int (*call)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_DEFAULT, name);
    int returned = call ? call(NULL, NULL) : -1000;
    if (returned != atoi(result)) {
        fprintf(stderr, "%s: %d instead of %s\n", name, returned, result);
        failures++;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    expect(argv[2], argv[3]);
    expect(argv[2], argv[3]);
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    expect("MPI_Init", "0");
    if (strcmp(argv[4], "-") != 0)
        expect(argv[2], argv[4]);
    expect("MPI_Finalize", "0");
    return failures != 0;
}
