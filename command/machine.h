/* What this machine supports, as far as a process without MPI can find out. */
#ifndef MPIACCEL_MACHINE_H
#define MPIACCEL_MACHINE_H

#include "pmpi_wrap/eager_obstacle.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether files without a name can be created in memory: without them, nothing is accelerated. */
bool machine_has_memfd(void);

/* Whether a process may copy out of the memory of another one of the same user: 0, or the errno of
 * the system call. */
int machine_copy_error(void);

/* kernel.yama.ptrace_scope, which restricts these copies; -1: this machine has no such setting. */
int machine_ptrace_scope(void);

/* "always", "madvise", "never", or "unknown". Valid until the next call. */
const char *machine_huge_pages(void);

/* A launcher in PATH */
struct machine_launcher {
    char path[256];
    const char *family; /* struct launcher */
    char version[32];   /* empty: unknown */
};

/* Fill in at most `room` launchers in the order of PATH, each program once. Returns their number.
 */
size_t machine_launchers(struct machine_launcher *found, size_t room);

enum gpu_answer { GPU_UNKNOWN, GPU_REFUSED, GPU_ACCEPTED };

/* An MPI library that the loader finds without a path */
struct machine_mpi {
    char file[32], version[128]; /* "libmpich.so.12", "MPICH 4.0.2, ch4:ucx" */
    enum gpu_answer gpu;         /* whether it accepts addresses of GPU memory */
    enum eager_obstacle eager;   /* for a job of two ranks on this machine, in this environment */
    char eager_setting[EAGER_SETTING_ROOM];
};

/* Fill in at most `room` libraries; call config_read() before. Returns their number. */
size_t machine_mpis(struct machine_mpi *found, size_t room);

#endif
