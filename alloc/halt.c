#include "alloc/halt.h"

#include "core/os_number.h"
#include "core/sync.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 4096, STACK = 1 << 16, LISTING = 1 << 15 };
static const uint64_t patience_ns = UINT64_C(2000000000);

/* Written by the helper: STOPPED, FORBIDDEN, FAILED; by us: AGAIN, RESUME. */
enum state { BEGIN, STOPPED, FORBIDDEN, FAILED, AGAIN, RESUME };

static struct {
    struct sync_word state;
    int process, caller; /* the thread that goes on */
    int count;
    int stopped[THREADS_MAX];
    char listing[LISTING];
    char stack[STACK] __attribute__((aligned(64)));
} * halt;
static int helper;
static sigset_t signals_before;

/* ---- the helper: system calls only, since the memory is the stopped threads' too ---- */

static bool is_stopped(int thread)
{
    for (int i = 0; i < halt->count; i++)
        if (halt->stopped[i] == thread)
            return true;
    return false;
}

static enum state stop_thread(int thread)
{
    uint64_t start = sync_now_ns();
    int status;
    if (halt->count == THREADS_MAX)
        return FAILED;
    if (ptrace(PTRACE_SEIZE, thread, 0, 0))
        return errno == ESRCH ? STOPPED : errno == EPERM ? FORBIDDEN : FAILED;
    halt->stopped[halt->count++] = thread;
    ptrace(PTRACE_INTERRUPT, thread, 0, 0);
    for (;;) {
        int got = waitpid(thread, &status, __WALL | WNOHANG);
        if (got < 0 || (got == thread && !WIFSTOPPED(status))) { /* it has ended */
            halt->count--;
            return STOPPED;
        }
        /* A signal that has just come is seen first; it is handed on, and then comes our stop. */
        if (got == thread && status >> 16 == PTRACE_EVENT_STOP)
            return STOPPED;
        if (got == thread)
            ptrace(PTRACE_CONT, thread, 0, (long)WSTOPSIG(status));
        if (sync_now_ns() - start > patience_ns)
            return FAILED;
        syscall(SYS_sched_yield);
    }
}

struct entry { /* of getdents64 */
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Once through the list. `added`: whether some were not stopped yet. */
static enum state stop_listed(int folder, bool *added)
{
    enum state state = STOPPED;
    long bytes;
    lseek(folder, 0, SEEK_SET);
    while (state == STOPPED &&
           (bytes = syscall(SYS_getdents64, folder, halt->listing, (long)LISTING)) > 0)
        for (long at = 0; at < bytes && state == STOPPED;) {
            struct entry *e = (struct entry *)(halt->listing + at);
            int thread = atoi(e->name);
            if (thread && thread != halt->caller && !is_stopped(thread)) {
                *added = true;
                state = stop_thread(thread);
            }
            at += e->length;
        }
    return state;
}

static enum state stop_all(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", halt->process);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum state state = folder < 0 ? FAILED : STOPPED;
    bool added = true;
    while (state == STOPPED && added) {
        added = false;
        state = stop_listed(folder, &added);
    }
    close(folder);
    return state;
}

static void resume_all(void)
{
    while (halt->count)
        ptrace(PTRACE_DETACH, halt->stopped[--halt->count], 0, 0);
}

/* Not by sync_wait(): the helper is no thread of the C library's. */
static enum state await_other_than(enum state before)
{
    uint32_t now;
    while ((now = sync_load(&halt->state)) == before) {
        if (getppid() != halt->process)
            _exit(1); /* the process has died */
        syscall(SYS_sched_yield);
    }
    return (enum state)now;
}

static int help(void *unused)
{
    (void)unused;
    enum state state;
    do {
        state = stop_all();
        if (state != STOPPED)
            resume_all();
        sync_publish_ordered(&halt->state, state);
    } while (await_other_than(state) == AGAIN);
    resume_all();
    return 0;
}

/* ---- the process ---- */

static int count_threads(void)
{
    int threads = 0;
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (file)
        fclose(file);
    return threads;
}

/* But for exceptions that a process makes. */
static bool only_ancestors_may_trace(void)
{
    return os_number("/proc/sys/kernel/yama/ptrace_scope") == 1;
}

static enum state helper_says(enum state before)
{
    struct sync_wait wait = SYNC_WAIT;
    uint32_t now;
    while ((now = sync_load(&halt->state)) == before) {
        if (waitpid(helper, NULL, WNOHANG | __WALL) == helper) {
            helper = 0;
            return FAILED;
        }
        sync_wait(&wait, &halt->state, before);
    }
    return (enum state)now;
}

static enum state begin_helping(void)
{
    int shared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;
    helper = clone(help, halt->stack + STACK, shared, NULL);
    if (helper < 0) {
        helper = 0;
        return FAILED;
    }
    enum state state = helper_says(BEGIN);
    if (state != FORBIDDEN || !only_ancestors_may_trace())
        return state;
    /* Not from the beginning: there is one exception a process, and a host may have made one. */
    prctl(PR_SET_PTRACER, helper);
    sync_publish_ordered(&halt->state, AGAIN);
    state = helper_says(AGAIN);
    prctl(PR_SET_PTRACER, 0);
    return state;
}

bool halt_begin(const char **why)
{
    sigset_t all;
    sigfillset(&all);
    int threads = count_threads();
    if (!threads) {
        *why = "/proc cannot be read";
        return false;
    }
    pthread_sigmask(SIG_BLOCK, &all, &signals_before);
    helper = 0;
    if (threads == 1)
        return true;
    void *map =
        mmap(NULL, sizeof *halt, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    enum state state = FAILED;
    if (map != MAP_FAILED) {
        halt = map;
        halt->process = getpid();
        halt->caller = (int)syscall(SYS_gettid);
        state = begin_helping();
    }
    if (state == STOPPED)
        return true;
    halt_end();
    *why = state == FORBIDDEN ? "other threads are running, and ptrace() of them is not permitted"
                              : "other threads are running and cannot be stopped";
    return false;
}

void halt_end(void)
{
    if (helper) {
        sync_publish_ordered(&halt->state, RESUME);
        waitpid(helper, NULL, __WALL);
    }
    helper = 0;
    if (halt)
        munmap(halt, sizeof *halt);
    halt = NULL;
    pthread_sigmask(SIG_SETMASK, &signals_before, NULL);
}
