/* A host that accepts GPU memory, and programs that load a GPU runtime. */
#ifndef GPU_H
#define GPU_H

#include "test.h"

#include <dlfcn.h>

/* Instead of the host's own answer, which is 0 for the MPIs of Linux distributions. Set it before
 * the first collective call. */
static int gpu_accepted;

int MPIX_Query_cuda_support(void);
int MPIX_Query_cuda_support(void)
{
    return gpu_accepted;
}

static inline void gpu_load(const char *program, const char *library)
{
    char path[4096];
    int folder = (int)(strrchr(program, '/') - program);
    snprintf(path, sizeof path, "%.*s/gpu/%s", folder, program, library);
    void *runtime = dlopen(path, RTLD_NOW);
    CHECK(runtime && dlsym(runtime, "cuda_is_here"), "%s: %s", path, dlerror());
}

#endif
