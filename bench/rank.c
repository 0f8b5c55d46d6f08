/* The program that `mpiaccel bench` starts as each rank:
 *
 *   mpiaccel-bench-rank PLACES [option value ...]
 *
 * This program is linked with no MPI, so that it can be installed as it is. It loads the MPI of its
 * launcher, from one of the PLACES (an MPI library, or folders of MPI libraries, separated by
 * colons) or from where the loader searches. Then it loads the benchmark that was compiled for the
 * ABI of this MPI, whose MPI calls resolve to the preloaded libraries, and otherwise to this MPI.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char message[1024]; /* of the loader, about the first library that it could not load */

static void *load(const char *file)
{
    void *mpi = dlopen(file, RTLD_LAZY | RTLD_GLOBAL);
    const char *error = mpi ? NULL : dlerror();
    if (error && !*message)
        snprintf(message, sizeof message, "%s", error);
    return mpi;
}

/* The folder may contain several MPIs: the environment shows which one has started this rank. */
static void *load_from(const char *folder)
{
    static const char *const open_mpi[] = {"libmpi.so.40", "libmpi.so", NULL};
    static const char *const others[] = {"libmpich.so.12", "libmpi.so.12", "libmpi.so", NULL};
    bool is_open_mpi = getenv("PMIX_RANK") || getenv("OMPI_COMM_WORLD_RANK");
    void *mpi = NULL;
    for (const char *const *name = is_open_mpi ? open_mpi : others; *name && !mpi; name++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", *name);
        if (!*folder || !access(path, R_OK))
            mpi = load(path);
    }
    return mpi;
}

static void *load_mpi(char *places)
{
    void *mpi = NULL;
    for (char *place = strtok(places, ":"); place && !mpi; place = strtok(NULL, ":")) {
        struct stat status;
        bool is_file = !stat(place, &status) && S_ISREG(status.st_mode);
        mpi = is_file ? load(place) : load_from(place);
    }
    return mpi ? mpi : load_from("");
}

/* libmpi_abi.so has the standard ABI; in an MPI's own library the version of that is -1. */
static const char *abi_of(void *mpi)
{
    int major = 0, minor = 0;
    int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(mpi, "PMPI_Abi_get_version");
    if (version && !version(&major, &minor) && major > 0)
        return "standard";
    return dlsym(mpi, "ompi_mpi_comm_world") ? "ompi" : "mpich";
}

int main(int argc, char **argv)
{
    char program[PATH_MAX] = "", benchmark[PATH_MAX + 32];
    void *mpi = argc > 1 ? load_mpi(argv[1]) : NULL;
    if (!mpi) {
        fprintf(stderr, "bench: found no MPI library (%s); name it: --mpi /folder/libmpi.so\n",
                message);
        return 2;
    }
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return 2;
    snprintf(benchmark, sizeof benchmark, "%s/bench-%s.so", dirname(program), abi_of(mpi));
    void *library = dlopen(benchmark, RTLD_NOW);
    int (*run)(void *, int, char **) =
        library ? (int (*)(void *, int, char **))dlsym(library, "bench_main") : NULL;
    if (!run) {
        fprintf(
            stderr,
            "bench: the benchmark does not run with this MPI (%s); build libmpiaccel here, with "
            "./configure --with-mpicc=MPICC\n",
            dlerror());
        return 2;
    }
    return run(mpi, argc - 1, argv + 1);
}
