#include "core/kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern const struct kernels kernels_baseline;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2;

/* Not __builtin_cpu_supports(): it links a constructor of libgcc, which would execute CPUID a dozen
 * times in every process. In virtual machines that takes longer than loading the whole library. */
static bool has_avx2(void)
{
    enum { SAVED_BY_OS = 6 }; /* the bits of XCR0 for the registers xmm and ymm */
    unsigned a, b, c, d, saved, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
    return (saved & SAVED_BY_OS) == SAVED_BY_OS && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (b & bit_AVX2);
}
#endif

const struct kernels *kernels_best(void)
{
#if defined(__x86_64__)
    if (has_avx2())
        return &kernels_avx2;
#endif
    return &kernels_baseline;
}
