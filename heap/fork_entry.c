/* fork() on a stack that is a large block of malloc, such as that of a coroutine.
 *
 * Until the child has its copy of the blocks, it would run on the same pages as its parent, and the
 * copy would be that of a stack in use. So such a thread forks on another stack, in private memory,
 * and returns to its own when fork() is over.
 *
 * If the block is the stack of a thread (pthread_attr_setstack()), it also holds the thread's
 * control block. The child would write its thread id there, and its parent would find it and take
 * its own locks for those of another thread. So fork() fails in such a thread. */
#include "core/log.h"
#include "heap/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef pid_t fork_fn(void);
static fork_fn *next_fork;

/* fork() may be called in a signal handler, where dlsym() is not safe, so call it before. */
__attribute__((constructor)) static void find_next_fork(void)
{
    next_fork = (fork_fn *)dlsym(RTLD_NEXT, "fork");
}

static pid_t fork_here(void)
{
    if (!next_fork) /* the caller is the constructor of another library */
        find_next_fork();
    return next_fork();
}

struct other_stack {
    ucontext_t caller, here;
    pid_t child;
    char memory[256 << 10];
};

/* makecontext() passes integers, which are too short for an address. */
static void fork_on(unsigned high, unsigned low)
{
    struct other_stack *s = (struct other_stack *)(uintptr_t)((uint64_t)high << 32 | low);
    s->child = fork_here();
}

static COLD pid_t fork_elsewhere(void)
{
    if (heap_has((void *)(uintptr_t)pthread_self())) { /* in glibc, the control block */
        log_message(0, "fork fails in a thread whose stack is a large block of malloc; run without "
                       "--heap");
        errno = ENOSYS;
        return -1;
    }
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    struct other_stack *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (s == MAP_FAILED)
        return -1;
    getcontext(&s->here);
    s->here.uc_stack = (stack_t){.ss_sp = s->memory, .ss_size = sizeof s->memory};
    s->here.uc_link = &s->caller;
    uint64_t address = (uintptr_t)s;
    makecontext(&s->here, (void (*)(void))fork_on, 2, (unsigned)(address >> 32), (unsigned)address);
    swapcontext(&s->caller, &s->here);
    pid_t child = s->child;
    munmap(s, sizeof *s);
    return child;
}

__attribute__((visibility("default"))) pid_t fork(void)
{
    return heap_has(__builtin_frame_address(0)) ? fork_elsewhere() : fork_here();
}
