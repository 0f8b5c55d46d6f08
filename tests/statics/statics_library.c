/* A shared library with marked variables; statics_uses.c uses it. */
#include <mpiaccel/mpiaccel.h>

MPIACCEL_SHARED static long library_own_words[1000] = {1, 2, 3};
MPIACCEL_SHARED static double library_own[1000];

long *library_words(void);
long *library_words(void)
{
    return library_own_words;
}

double *library_reals(void);
double *library_reals(void)
{
    library_own[1] = 1.5;
    return library_own;
}
