/* The receiver gets the contents of the buffer at the time of MPI_Bsend, whether the message equals
 * the previous one, differs from it in one byte anywhere, or differs in all bytes; and the buffer
 * may be changed at once.
 */
#include "bsend.h"

static unsigned char *out, *in;

/* The bytes of message i: mostly those of the previous message. */
static void change(int i, int bytes, unsigned *seed)
{
    switch (i % 11) {
    case 4:
        fill(out, bytes, ++*seed);
        break;
    case 6:
        out[bytes - 1] ^= 1;
        break;
    case 9:
        out[0] ^= 1;
        break;
    case 10:
        out[bytes / 2] ^= 0x80;
        break;
    default:
        break;
    }
}

static void send_all(int bytes, int messages)
{
    unsigned char *copy = malloc((size_t)bytes);
    unsigned seed = (unsigned)bytes;
    fill(out, bytes, seed);
    for (int i = 0; i < messages; i++) {
        change(i, bytes, &seed);
        if (test_rank == 0) {
            memcpy(copy, out, (size_t)bytes);
            MPI_Bsend(out, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD);
            memset(out, 0xee, (size_t)bytes);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            memcpy(out, copy, (size_t)bytes);
        } else if (test_rank == 1) {
            MPI_Status status;
            int count;
            memset(in, 0, (size_t)bytes);
            MPI_Recv(in, bytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(status.MPI_TAG == i && count == bytes, "message %d of %d bytes", i, bytes);
            CHECK(!memcmp(in, out, (size_t)bytes), "message %d of %d bytes", i, bytes);
            MPI_Send(NULL, 0, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        }
    }
    free(copy);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1,     8,        4095,   4096,      8192,         16 << 10,
                                20000, 64 << 10, 100001, 256 << 10, (1 << 20) + 1};
    enum { MOST = 2 << 20 };
    test_begin(&argc, &argv);
    out = malloc(MOST);
    in = malloc(MOST);
    attach(8 * MOST);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        send_all(sizes[s], sizes[s] > 100000 ? 60 : 140);
    detach();
    return test_end();
}
