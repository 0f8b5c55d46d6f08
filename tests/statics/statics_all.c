/* A program that does not use the library's header; MPIACCEL_STATICS=1 makes its windows fast. */
#include "statics.h"

int main(int argc, char **argv)
{
    change_some();
    setvbuf(stdout, NULL, _IOFBF, 4096);
    printf("buffered before, ");
    test_begin(&argc, &argv);
    printf("and after\n");
    CHECK(getenv("PATH"));
    check_values();
    check_windows();
    check_values();
    return test_end();
}
