/* A library whose functions have OpenSHMEM's names, but other arguments and results, and with a
 * variable that has the name of OpenSHMEM 1.0's. */
#include <stdarg.h>

double shmem_init(int a, double b, int c, double d, long e, long f, long g, long h, long i, long l,
                  double j, long double k);
int malloc_error = 5;
int own_malloc_error(void);
int own_malloc_error(void)
{
    return malloc_error;
}

double shmem_init(int a, double b, int c, double d, long e, long f, long g, long h, long i, long l,
                  double j, long double k)
{
    return a + b + c + d + (double)(e + f + g + h + i + l) + j + (double)k;
}

/* The last byte of its address is 0. In rax, where a caller of a variadic function passes the
 * number of vector registers with arguments, an address would then state that there are none. */
int shmem_int_p(int count, ...) __attribute__((aligned(256)));
int shmem_int_p(int count, ...)
{
    va_list numbers;
    int sum = 0;
    va_start(numbers, count);
    while (count--)
        sum += (int)va_arg(numbers, double);
    va_end(numbers);
    return sum;
}
