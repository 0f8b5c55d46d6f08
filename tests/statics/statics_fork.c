/* A child of fork has the variables as they were at the fork, and what it writes is its own (H6: a
 * child shares nothing). Some pages must not be read.
 *
 * With the argument `moved` the variables must be in shared memory; with any, there are no windows:
 * for a node where nothing is fast. */
#include "cancelled_fork.h"
#include "statics.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs protect a page at the end of a stack. */
enum { LARGEST_PAGE = 65536 };
static char stack[2 * LARGEST_PAGE] __attribute__((aligned(LARGEST_PAGE)));

int main(int argc, char **argv)
{
    change_some();
    test_begin(&argc, &argv);
    check_values();
    CHECK(argc < 2 || strcmp(argv[1], "moved") != 0 || is_shared(numbers));
    stack[0] = stack[LARGEST_PAGE] = 1;
    CHECK(!mprotect(stack, LARGEST_PAGE, PROT_NONE));
    for (int round = 0; round < 20; round++) {
        numbers[100] = round;
        int go[2];
        if (pipe(go))
            return 1;
        pid_t child = fork();
        if (!child) {
            char byte;
            /* The parent has written when the byte arrives. */
            if (read(go[0], &byte, 1) != 1)
                _exit(2);
            bool good = numbers[100] == round && zeroes[COUNT / 2] == 5 && global_word == 4711 &&
                        stack[LARGEST_PAGE] == 1;
            numbers[100] = zeroes[3] = -1;
            global_word = -1;
            good &= numbers[100] == -1;
            _exit(good ? 0 : 1);
        }
        numbers[100] = 1000 + round;
        int status;
        if (write(go[1], "x", 1) != 1)
            return 1;
        waitpid(child, &status, 0);
        CHECK(status == 0, "round %d: the child ended with %x", round, status);
        CHECK(numbers[100] == 1000 + round && zeroes[3] == 0, "round %d: it wrote here", round);
        close(go[0]);
        close(go[1]);
    }
    check_cancelled_fork();
    CHECK(system("exit 3") >> 8 == 3);
    numbers[100] = 0;
    check_values();
    if (argc < 2)
        check_windows();
    return test_end();
}
