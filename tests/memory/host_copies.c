/* Messages of all lengths from and to memory of MPI_Alloc_mem, which the host copies between
 * processes: they arrive complete, no adjacent byte changes, and the intercepted functions
 * (process_vm_readv and process_vm_writev) return the results of the OS to all other callers. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 3 << 20, EDGE = 64 };

static unsigned char *shared, *own;

static unsigned char byte_of(int i, int seed, int rank)
{
    return (unsigned char)(i * 31 + (i >> 8) + seed * 7 + rank);
}

static void fill(unsigned char *at, int bytes, int seed, int rank)
{
    for (int i = 0; i < bytes; i++)
        at[i] = byte_of(i, seed, rank);
}

static bool is_full(const unsigned char *at, int bytes, int seed, int rank)
{
    for (int i = 0; i < bytes; i++)
        if (at[i] != byte_of(i, seed, rank))
            return false;
    return true;
}

/* Send messages around the ring; the bytes around the receiver's buffer are unchanged. */
static void pass_on(unsigned char *from, unsigned char *to, int bytes, int seed)
{
    MPI_Request request;
    fill(from, bytes, seed, test_rank);
    memset(to - EDGE, 0xa5, (size_t)(bytes + 2 * EDGE));
    if (seed % 2) {
        MPI_Irecv(to, bytes, MPI_BYTE, test_previous(), seed, MPI_COMM_WORLD, &request);
        MPI_Ssend(from, bytes, MPI_BYTE, test_next(), seed, MPI_COMM_WORLD);
    } else {
        MPI_Isend(from, bytes, MPI_BYTE, test_next(), seed, MPI_COMM_WORLD, &request);
        MPI_Recv(to, bytes, MPI_BYTE, test_previous(), seed, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(is_full(to, bytes, seed, test_previous()), "%d bytes", bytes);
    for (int i = 0; i < EDGE; i++)
        CHECK(to[i - EDGE] == 0xa5 && to[bytes + i] == 0xa5, "beside %d bytes", bytes);
}

static void all_lengths(void)
{
    static const int lengths[] = {0,     1,     8,      100,     4095,          4096,          4097,
                                  16384, 65536, 100000, 1 << 20, (1 << 20) + 1, MOST / 2 - 200};
    unsigned char *areas[] = {shared + EDGE, own + EDGE, shared + MOST / 2, own + MOST / 2};
    int seed = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int from = 0; from < 2; from++)
            for (int to = 2; to < 4; to++)
                for (int off = 0; off < 2; off++)
                    pass_on(areas[from] + off, areas[to] + 3 * off, lengths[l], ++seed);
}

/* A datatype with holes on one side, contiguous on the other. */
static void with_holes(void)
{
    enum { BLOCKS = 20000, BLOCK = 24, STRIDE = 40 };
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int packed_here = 0; packed_here < 2; packed_here++) {
        fill(shared, BLOCKS * STRIDE, packed_here, test_rank);
        MPI_Sendrecv(shared, packed_here ? BLOCKS * BLOCK : 1, packed_here ? MPI_BYTE : type,
                     test_next(), 0, own, packed_here ? 1 : BLOCKS * BLOCK,
                     packed_here ? type : MPI_BYTE, test_previous(), 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < BLOCKS * BLOCK; i++) {
            int spread = i / BLOCK * STRIDE + i % BLOCK;
            wrong += own[packed_here ? spread : i] !=
                     byte_of(packed_here ? i : spread, packed_here, test_previous());
        }
        CHECK(wrong == 0, "%d bytes", wrong);
    }
    MPI_Type_free(&type);
}

/* The results that other callers in this process get from the OS. */
static void compare_with_os(pid_t pid)
{
    char a[] = "........", b[] = "........";
    struct iovec pieces[2] = {{a, 3}, {a + 4, 2}}, plain = {a, 5}, more = {b, 8};
    struct iovec remote[2] = {{shared, 3}, {shared + 9, 2}}, all = {shared, 5}, none = {NULL, 5};
    const struct {
        pid_t pid;
        struct iovec *local;
        unsigned long local_pieces;
        struct iovec *remote;
        unsigned long remote_pieces, flags;
    } tries[] = {
        {pid, &plain, 1, &all, 1, 0},        {pid, pieces, 2, &all, 1, 0},
        {pid, &plain, 1, remote, 2, 0},      {pid, &plain, 1, &all, 1, 1},
        {pid, &plain, 1, &none, 1, 0},       {pid, &more, 1, &all, 1, 0},
        {pid, &plain, 0, &all, 1, 0},        {pid, &plain, 1, &all, 0, 0},
        {0x7ffffff0, &plain, 1, &all, 1, 0}, {pid, &plain, 1, &plain, 1, 0},
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        errno = 0;
        ssize_t result = process_vm_readv(tries[i].pid, tries[i].local, tries[i].local_pieces,
                                          tries[i].remote, tries[i].remote_pieces, tries[i].flags);
        int error = errno;
        memcpy(b, a, sizeof b);
        errno = 0;
        long by_os =
            syscall(SYS_process_vm_readv, tries[i].pid, tries[i].local, tries[i].local_pieces,
                    tries[i].remote, tries[i].remote_pieces, tries[i].flags);
        CHECK(result == by_os && error == errno, "try %zu: %zd and %d, not %ld and %d", i, result,
              error, by_os, errno);
    }
}

static void in_a_child(void)
{
    pid_t child = fork();
    if (!child) {
        test_failures = 0;
        compare_with_os(getppid());
        compare_with_os(getpid());
        _exit(test_failures);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "%#x", (unsigned)status);
}

int main(int argc, char **argv)
{
    static unsigned char early[64];
    shared = early;
    compare_with_os(getpid()); /* before MPI_Init */
    test_begin(&argc, &argv);
    shared = window_memory(MOST);
    own = calloc(MOST, 1);
    all_lengths();
    with_holes();
    compare_with_os(getpid());
    in_a_child();
    all_lengths();
    MPI_Free_mem(shared);
    free(own);
    return test_end();
}
