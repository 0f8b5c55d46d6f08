/* System calls work on the memory as on any other: read and write, pipes, scattered reads, sockets,
 * futexes, mprotect of one of its pages, and mappings next to it. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static char *from, *to;

static void fill(void)
{
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(i * 7 + (i >> 8));
    memset(to, 0, BYTES);
}

static void same(const char *what)
{
    CHECK(!memcmp(from, to, BYTES), "%s", what);
}

static void by_file(void)
{
    FILE *file = tmpfile();
    int fd = fileno(file);
    fill();
    CHECK(write(fd, from, BYTES) == BYTES, "%s", strerror(errno));
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    struct iovec parts[] = {{to, 1000}, {to + 1000, BYTES - 1000}};
    CHECK(readv(fd, parts, 2) == BYTES, "%s", strerror(errno));
    same("file");
    fclose(file);
}

static void *write_all(void *fd)
{
    for (int sent = 0, n; sent < BYTES; sent += n)
        if ((n = (int)write(*(int *)fd, from + sent, (size_t)(BYTES - sent))) <= 0)
            return "write failed";
    return NULL;
}

static void through(int in, int out, const char *what)
{
    pthread_t writer;
    void *wrong;
    fill();
    pthread_create(&writer, NULL, write_all, &in);
    for (int got = 0, n; got < BYTES; got += n)
        if ((n = (int)read(out, to + got, (size_t)(BYTES - got))) <= 0)
            break;
    pthread_join(writer, &wrong);
    CHECK(!wrong, "%s", (char *)wrong);
    same(what);
    close(in);
    close(out);
}

/* The pages themselves go into the pipe, not a copy. */
static void spliced(void)
{
    int ends[2];
    fill();
    CHECK(!pipe(ends));
    for (int done = 0; done < BYTES;) {
        struct iovec part = {from + done, 16384};
        ssize_t sent = vmsplice(ends[1], &part, 1, 0);
        CHECK(sent > 0, "%s", strerror(errno));
        if (sent <= 0)
            break;
        CHECK(read(ends[0], to + done, (size_t)sent) == sent);
        done += (int)sent;
    }
    same("splice");
    close(ends[0]);
    close(ends[1]);
}

/* A process-shared mutex may lie in this memory, and MPI may send from it and receive into it. */
static void by_mpi_and_mutex(void)
{
    MPI_Request request;
    fill();
    MPI_Irecv(to, BYTES, MPI_CHAR, test_rank, 0, MPI_COMM_WORLD, &request);
    MPI_Send(from, BYTES, MPI_CHAR, test_rank, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    same("message");
    pthread_mutex_t *mutex = (pthread_mutex_t *)to;
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    CHECK(!pthread_mutex_init(mutex, &shared));
    CHECK(!pthread_mutex_lock(mutex) && pthread_mutex_trylock(mutex) == EBUSY &&
          !pthread_mutex_unlock(mutex));
    pthread_mutex_destroy(mutex);
}

/* Protecting one page, and mappings that come and go, do not affect the other pages. */
static void neighbours(void)
{
    long page = sysconf(_SC_PAGESIZE);
    char *inside = (char *)(((uintptr_t)from + (uintptr_t)page) & ~(uintptr_t)(page - 1));
    fill();
    CHECK(!mprotect(inside, (size_t)page, PROT_READ), "%s", strerror(errno));
    memcpy(to, from, BYTES);
    CHECK(!mprotect(inside, (size_t)page, PROT_READ | PROT_WRITE));
    CHECK(!madvise(inside, (size_t)page, MADV_WILLNEED), "%s", strerror(errno));
    inside[0]++;
    to[inside - from]++;
    for (int i = 0; i < 20; i++) {
        char *other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(other, 1, BYTES);
        munmap(other, BYTES);
    }
    same("neighbours");
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    int ends[2];
    from = window_memory(BYTES);
    to = window_memory(BYTES);
    by_file();
    CHECK(!pipe(ends));
    through(ends[1], ends[0], "pipe");
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    through(ends[1], ends[0], "socket");
    spliced();
    by_mpi_and_mutex();
    neighbours();
    MPI_Free_mem(from);
    MPI_Free_mem(to);
    return test_end();
}
