/* A program without MPI that uses own_library.c. */
#include <stdio.h>

double shmem_init(int a, double b, int c, double d, long e, long f, long g, long h, long i, long l,
                  double j, long double k);
int shmem_int_p(int count, ...);
int own_malloc_error(void);

int main(void)
{
    for (int round = 0; round < 2; round++) {
        double sum = shmem_init(1, 2.5, 4, 8.25, 16, 32, 64, 128, 256, 2048, 512.125, 1024.0625L);
        int other = shmem_int_p(9, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0);
        if (sum != 4095.9375 || other != 45) {
            printf("round %d: %f, %d\n", round, sum, other);
            return 1;
        }
    }
    if (own_malloc_error() != 5) {
        printf("malloc_error: %d\n", own_malloc_error());
        return 1;
    }
    return 0;
}
