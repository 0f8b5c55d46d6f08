#include "core/kernels.h"

extern const struct kernels kernels_baseline;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2;
#endif

const struct kernels *kernels_best(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}
