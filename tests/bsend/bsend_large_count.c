/* The `_c` calls of buffered sends. Only where MPI is 4.0. */
#include "bsend.h"

int main(int argc, char **argv)
{
    static unsigned char out[LONG], in[LONG];
    test_begin(&argc, &argv);
    fill(out, LONG, 9);
#if MPI_VERSION >= 4
    MPI_Count size = 4 * (LONG + MPI_BSEND_OVERHEAD), back;
    char *buffer = malloc((size_t)size);
    void *at;
    MPI_Buffer_attach_c(buffer, size);
    for (int i = 0; i < 12; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (test_rank == 0 && i % 2)
            MPI_Bsend_c(out, LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        else if (test_rank == 0)
            MPI_Ibsend_c(out, LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (test_rank == 1) {
            memset(in, 0, LONG);
            MPI_Recv_c(in, LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(!wrong_bytes(in, LONG, 9), "message %d", i);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request request;
    if (test_rank == 0) {
        MPI_Bsend_init_c(out, LONG, MPI_BYTE, 1, 50, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (test_rank == 1) {
        MPI_Recv(in, LONG, MPI_BYTE, 0, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach_c(&at, &back);
    CHECK(at == buffer && back == size, "%p %lld", at, (long long)back);
#else
    (void)in;
#endif
    return test_end();
}
