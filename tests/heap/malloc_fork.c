/* A child of fork finds its parent's blocks as they were at the fork, and what it writes, frees and
 * allocates is its own, also if other threads of the parent allocate at that moment. A block may
 * have pages that must not be read, and may be the stack on which the parent forks. The parent's
 * windows over such memory keep working. */
#include "cancelled_fork.h"
#include "where.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { BLOCKS = 20, LENGTH = 300000 };
static char *block[BLOCKS];

static void check_child(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static int child(int go)
{
    char byte, *mine;
    int wrong = read(go, &byte, 1) != 1; /* the parent has written to all blocks */
    for (unsigned i = 0; i < BLOCKS; i++)
        wrong += !holds(block[i], LENGTH, i);
    for (unsigned i = 0; i < BLOCKS; i++)
        fill(block[i], LENGTH, 200);
    for (unsigned i = 0; i < BLOCKS; i += 2)
        free(block[i]);
    wrong += !(mine = calloc(LENGTH, 3)) || is_shared(mine) || mine[LENGTH];
    block[1] = realloc(block[1], (size_t)LENGTH * 10);
    wrong += !holds(block[1], 256, 200) || is_shared(block[1]);
    free(block[1]);
    pid_t grandchild = fork();
    if (!grandchild)
        _exit(!holds(block[3], LENGTH, 200));
    int status;
    wrong += waitpid(grandchild, &status, 0) != grandchild || status;
    return wrong != 0;
}

static void apart(void)
{
    int go[2];
    CHECK(!pipe(go));
    for (unsigned i = 0; i < BLOCKS; i++)
        fill(block[i] = malloc(LENGTH), LENGTH, i);
    pid_t pid = fork();
    if (!pid)
        _exit(child(go[0]));
    for (unsigned i = 0; i < BLOCKS; i++)
        fill(block[i], LENGTH, 100 + i);
    CHECK(write(go[1], "", 1) == 1);
    check_child(pid);
    for (unsigned i = 0; i < BLOCKS; i++) {
        CHECK(holds(block[i], LENGTH, 100 + i), "block %u", i);
        CHECK(is_shared(block[i]) == has_heap());
        free(block[i]);
    }
    close(go[0]);
    close(go[1]);
}

/* Programs protect a page at the end of a stack that they allocate. */
static void beside_guards(void)
{
    enum { LARGEST_PAGE = 65536 };
    char *stack = NULL;
    CHECK(!posix_memalign((void **)&stack, LARGEST_PAGE, LENGTH));
    fill(stack, LENGTH, 7);
    CHECK(!mprotect(stack, LARGEST_PAGE, PROT_NONE));
    pid_t pid = fork();
    if (!pid)
        _exit(stack[LENGTH - 1] != (char)(7 + LENGTH - 1));
    check_child(pid);
    CHECK(!mprotect(stack, LARGEST_PAGE, PROT_READ | PROT_WRITE) && holds(stack, LENGTH, 7));
    free(stack);
}

static void fork_often(void)
{
    for (volatile int i = 0, mine; i < 20; i++) {
        mine = i;
        pid_t pid = fork();
        mine += pid ? 0 : 100;
        if (!pid)
            _exit(mine != i + 100);
        check_child(pid);
        CHECK(mine == i);
    }
}

static void in_coroutine(char *stack)
{
    static ucontext_t caller, coroutine;
    getcontext(&coroutine);
    coroutine.uc_stack = (stack_t){.ss_sp = stack, .ss_size = LENGTH};
    coroutine.uc_link = &caller;
    makecontext(&coroutine, fork_often, 0);
    swapcontext(&caller, &coroutine);
}

/* Its stack also holds what is shared between the thread and the C library. */
static void *fork_in_thread(void *unused)
{
    errno = 0;
    pid_t pid = fork();
    if (!pid)
        _exit(0);
    if (has_heap())
        CHECK(pid == -1 && errno == ENOSYS);
    else
        check_child(pid);
    return unused;
}

static void in_thread(char *stack)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK(!pthread_attr_setstack(&attributes, stack, LENGTH / 64 * 64));
    CHECK(!pthread_create(&thread, &attributes, fork_in_thread, NULL));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void on_block(void)
{
    char *stack = NULL;
    CHECK(!posix_memalign((void **)&stack, 64, LENGTH) && is_shared(stack) == has_heap());
    in_coroutine(stack);
    in_thread(stack);
    free(stack);
}

static volatile bool done;

static void *allocate(void *unused)
{
    unsigned n = 0;
    while (!done) {
        char *mine = malloc(100000 + n % 7 * 50000);
        fill(mine, 100000, n);
        CHECK(holds(mine, 100000, n));
        free(mine);
        n++;
    }
    return unused;
}

static void beside_threads(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, allocate, NULL);
    char *mine = malloc(LENGTH);
    for (unsigned i = 0; i < 20; i++) {
        fill(mine, LENGTH, i);
        pid_t pid = fork();
        if (!pid) {
            free(malloc(LENGTH));
            _exit(!holds(mine, LENGTH, i));
        }
        check_child(pid);
    }
    done = true;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    free(mine);
}

/* fork() waits for fflush(NULL), which waits for getline(), which allocates in the lock of its
 * stream. */
static volatile bool stop;

static void *read_long_lines(void *unused)
{
    FILE *file = tmpfile();
    for (int i = 0; file && i < LENGTH; i++)
        fputc(i == LENGTH - 1 ? '\n' : 'x', file);
    while (file && !stop) {
        char *line = NULL;
        size_t size = 0;
        rewind(file);
        CHECK(getline(&line, &size, file) == LENGTH);
        free(line);
    }
    if (file)
        fclose(file);
    return unused;
}

static void *flush_all(void *unused)
{
    while (!stop)
        fflush(NULL);
    return unused;
}

static void beside_streams(void)
{
    enum { LONG = 20 << 20 };
    pthread_t thread[2];
    CHECK(!pthread_create(&thread[0], NULL, read_long_lines, NULL));
    CHECK(!pthread_create(&thread[1], NULL, flush_all, NULL));
    char *mine = malloc(LONG); /* so that the copy takes long */
    memset(mine, 1, LONG);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (!pid)
            _exit(mine[LONG - 1] != 1);
        check_child(pid);
    }
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    free(mine);
}

static void cancelled(void)
{
    block[0] = malloc(LENGTH);
    check_cancelled_fork();
    free(block[0]);
}

/* Memory that was never written is not copied, so it does not matter how much of it there is. */
static void beside_untouched(void)
{
    enum { MOST = 2000, LONG = 64 << 20 };
    static char *untouched[MOST];
    int count = 0, go[2];
    fill(block[0] = malloc(LENGTH), LENGTH, 1);
    while (count < MOST && is_shared(untouched[count] = malloc(LONG)))
        count++;
    CHECK(!pipe(go));
    pid_t pid = fork();
    if (!pid) {
        char byte;
        _exit(read(go[0], &byte, 1) != 1 || !holds(block[0], LENGTH, 1));
    }
    fill(block[0], LENGTH, 2);
    CHECK(write(go[1], "", 1) == 1);
    check_child(pid);
    for (int i = 0; i <= count && i < MOST; i++)
        free(untouched[i]);
    free(block[0]);
    close(go[0]);
    close(go[1]);
}

static void beside_windows(void)
{
    long *memory = calloc(LENGTH, 1), *peers;
    MPI_Win win = window_over(memory, LENGTH, sizeof *memory);
    int next = (test_rank + 1) % test_size, go[2];
    CHECK(!pipe(go));
    pid_t pid = fork();
    if (!pid) {
        char byte;
        memory[1] = -1;
        _exit(read(go[0], &byte, 1) != 1 || memory[0] != 0);
    }
    peers = malloc(LENGTH);
    peers[0] = test_rank + 1;
    MPI_Win_fence(0, win);
    MPI_Put(peers, 1, MPI_LONG, next, 0, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(write(go[1], "", 1) == 1);
    check_child(pid);
    CHECK(memory[0] == (test_rank + test_size - 1) % test_size + 1 && memory[1] == 0);
    MPI_Win_free(&win);
    free(memory);
    free(peers);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv);
    apart();
    apart();
    beside_guards();
    on_block();
    cancelled();
    beside_untouched();
    beside_windows();
    beside_threads();
    beside_streams();
    CHECK(!system("true"));
    return test_end();
}
