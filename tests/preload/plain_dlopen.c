/* Loads the library named as its argument late and with RTLD_LOCAL, in a thread other than the
 * first (H2: the host is loaded late, or locally). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char *failure = "no thread";

static void *load(void *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        failure = dlerror();
    else if (!dlsym(library, "MPI_Put") || !dlsym(library, "PMPI_Win_create"))
        failure = "it does not have what it should";
    else
        failure = dlclose(library) ? "it does not close" : NULL;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc == 2 && !pthread_create(&thread, NULL, load, argv[1]))
        pthread_join(thread, NULL);
    if (failure)
        fprintf(stderr, "%s\n", failure);
    return failure != NULL;
}
