/* Variables marked MPIACCEL_SHARED: values as they were, windows over them fast. With the plugin or
 * without. */
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
