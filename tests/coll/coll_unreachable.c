/* The OS stops copying between the ranks while the program runs. Collectives then return an error
 * on the ranks that need such a copy. */
#include "coll.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void refuse_copies(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
              !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program),
          "no seccomp");
}

int main(int argc, char **argv)
{
    enum { COUNT = 200000 };
    coll_begin(&argc, &argv);
    char *from = calloc(1, COUNT), *to = malloc((size_t)COUNT * (size_t)test_size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++)
        CHECK_CLASS(MPI_Allgather(from, COUNT, MPI_CHAR, to, COUNT, MPI_CHAR, MPI_COMM_WORLD),
                    MPI_SUCCESS);
    refuse_copies();
    CHECK_CLASS(MPI_Allgather(from, COUNT, MPI_CHAR, to, COUNT, MPI_CHAR, MPI_COMM_WORLD),
                MPI_ERR_OTHER);
    free(from);
    free(to);
    return test_end();
}
