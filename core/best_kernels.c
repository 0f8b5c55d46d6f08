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

enum { VECTOR = 32 }; /* bytes */

void kernel_combine_long(combine_fn *kernel, size_t element, void *out, const void *a,
                         const void *b, size_t bytes, const char *ahead)
{
    size_t head = -(uintptr_t)out % VECTOR;
    if (head % element)
        head = 0;
    if (head)
        kernel(out, a, b, head / element, NULL);
    kernel((char *)out + head, (const char *)a + head, (const char *)b + head,
           (bytes - head) / element, ahead);
}
