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

enum { VECTOR = 32 };

void kernel_combine_many(combine_fn *kernel, size_t element, void *out, const void *a,
                         const void *b, size_t bytes, const char *ahead)
{
    size_t before = -(uintptr_t)out % VECTOR;
    if (before % element)
        before = 0;
    if (before)
        kernel(out, a, b, before / element, NULL);
    kernel((char *)out + before, (const char *)a + before, (const char *)b + before,
           (bytes - before) / element, ahead);
}
