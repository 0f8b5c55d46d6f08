/* Variables marked MPIACCEL_SHARED keep their values, and windows over them are fast. The program
 * runs without libmpiaccel, too. */
#include <mpiaccel/mpiaccel.h>
#define MARK MPIACCEL_SHARED
#include "statics.h"

int main(int argc, char **argv)
{
    change_some();
    test_begin(&argc, &argv);
    check_values();
    check_windows();
    check_values();
    return test_end();
}
