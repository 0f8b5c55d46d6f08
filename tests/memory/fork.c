/* After a fork, what the child writes into memory of MPI_Alloc_mem is invisible to the parent and
 * its peers, and the parent's windows keep working while the child lives (H6: fork). Children may
 * use malloc, ask whether MPI is initialised, run other programs, and exit or crash, also if they
 * were forked while another thread was allocating. */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 1 << 16 };

static void check_status(pid_t child, int expected)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(status == expected, "child: status %x, expected %x", (unsigned)status,
          (unsigned)expected);
}

/* One byte through a pipe. */
static void signal_end(int ends[2])
{
    CHECK(write(ends[1], "", 1) == 1);
}

static void await(int ends[2])
{
    char none;
    CHECK(read(ends[0], &none, 1) == 1);
}

static int child_writes(long *memory, long *peers, int copied[2], int parent_done[2])
{
    int wrong = 0, finalized = 1;
    for (int i = 0; i < WORDS; i++)
        wrong += memory[i] != i;
    for (int i = 0; i < WORDS; i++)
        memory[i] = -1;
    wrong += peers[0] != 0;
    peers[0] = -1;
    signal_end(copied);
    await(parent_done);
    for (int i = 0; i < WORDS; i++)
        wrong += memory[i] != -1;
    wrong += peers[0] != -1; /* the peer's put arrived at the parent */
    MPI_Finalized(&finalized);
    return wrong || finalized;
}

static void apart_from_parent(void)
{
    long *memory = window_memory(WORDS * sizeof *memory), *shared = window_memory(64);
    int done[2], copied[2];
    MPI_Win win = window_over(shared, 64, 8);
    for (int i = 0; i < WORDS; i++)
        memory[i] = i;
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!pipe(done) && !pipe(copied));
    pid_t child = fork();
    if (!child)
        _exit(child_writes(memory, shared, copied, done));
    /* A page that the child has not written yet shows what the parent writes: a private mapping of
     * a file cannot prevent it. */
    await(copied);
    MPI_Barrier(MPI_COMM_WORLD);
    long value = 5 + test_rank;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_LONG, test_next(), 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    signal_end(done);
    check_status(child, 0);
    for (int i = 0; i < 2; i++)
        close(done[i]), close(copied[i]);
    CHECK(shared[0] == 5 + test_previous(), "%ld", shared[0]);
    for (int i = 0; i < WORDS; i++)
        if (memory[i] != i) {
            CHECK(false, "word %d: %ld", i, memory[i]);
            break;
        }
    MPI_Win_free(&win);
    MPI_Free_mem(shared);
    MPI_Free_mem(memory);
}

/* Ways to end that must not affect the parent. */
static void child_ends(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        exit(3); /* runs all atexit handlers */
    check_status(child, 3 << 8);
    child = fork();
    if (!child) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    check_status(child, SIGTERM);
    child = fork();
    if (!child) {
        pid_t grandchild = fork();
        if (!grandchild)
            _exit(4);
        int status;
        _exit(waitpid(grandchild, &status, 0) == grandchild && status == 4 << 8 ? 5 : 6);
    }
    check_status(child, 5 << 8);
}

static void other_programs(void)
{
    char line[64] = "";
    FILE *from = popen("echo hello", "r");
    CHECK(from && fgets(line, sizeof line, from) && !strcmp(line, "hello\n"), "%s", line);
    CHECK(pclose(from) == 0);
    CHECK(system("exit 7") == 7 << 8);
    pid_t child = fork();
    if (!child) {
        execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL);
        _exit(1);
    }
    check_status(child, 8 << 8);
}

static _Atomic bool stop;

static void *allocate(void *unused)
{
    for (size_t size = 1; !stop; size = size * 5 % 3000017) {
        char *at;
        MPI_Alloc_mem((MPI_Aint)size, MPI_INFO_NULL, &at);
        at[size - 1] = 1;
        MPI_Free_mem(at);
    }
    return unused;
}

static void while_another_allocates(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, allocate, NULL);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(20); /* fails if a locked lock was inherited */
            for (size_t size = 1; size < 1 << 20; size *= 3)
                free(malloc(size));
            exit(0);
        }
        check_status(child, 0);
    }
    stop = true;
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &test_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &test_size);
    apart_from_parent();
    if (test_rank == 0) {
        child_ends();
        other_programs();
        while_another_allocates();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    apart_from_parent();
    return test_end();
}
