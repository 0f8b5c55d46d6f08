/* Windows over variables of a shared library and of the program: each has a section of its own. */
#include <mpiaccel/mpiaccel.h>
#define MARK MPIACCEL_SHARED
#include "statics.h"

double *library_reals(void);
long *library_words(void);

int main(int argc, char **argv)
{
    change_some();
    long *words = library_words();
    double *reals = library_reals();
    test_begin(&argc, &argv);
    CHECK(words[2] == 3 && words[3] == 0 && reals[1] == 1.5);
    check_values();
    check_window(words + 1, 500);
    check_window(reals, 1000 * sizeof *reals);
    CHECK(words[2] == 3 && reals[1] == 1.5);
    check_values();
    check_windows();
    return test_end();
}
