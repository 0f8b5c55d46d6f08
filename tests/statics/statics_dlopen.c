/* A shared library that is opened before MPI_Init and closed afterwards stays loaded, since its
 * marked variables have moved. Without libmpiaccel it is unloaded. */
#include "test.h"

#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 40);
    strcpy(strrchr((path[length < 0 ? 0 : length] = 0, path), '/'), "/libstatics_library.so");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    double *(*reals)(void) = library ? (double *(*)(void))dlsym(library, "library_reals") : NULL;
    if (!reals) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        return 1;
    }
    double *at = reals();
    test_begin(&argc, &argv);
    CHECK(at[1] == 1.5 && reals() == at);
    MPI_Win win = window_over(at, 1000 * sizeof *at, sizeof *at);
    double value = test_rank + 0.25;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, test_next(), 10, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    CHECK(at[10] == (test_rank + test_size - 1) % test_size + 0.25);
    MPI_Win_free(&win);
    dlclose(library);
    bool stays = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    CHECK(stays == (dlsym(RTLD_DEFAULT, "mpiaccel_version") != NULL));
    return test_end();
}
