/* Views of the node's file: the one that every member has of all of it, second ones of parts of a
 * slice, and what a fork makes of both (H6). */
#include "alloc/node.h"
#include "core/log.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- fork ---- */

static int file = -1; /* kept for this */
static struct stat file_identity;

static bool file_is_ours(void)
{
    struct stat now;
    return !fstat(file, &now) && now.st_ino == file_identity.st_ino &&
           now.st_dev == file_identity.st_dev;
}

/* Variables are copied before the fork, by the process that has them: what the child finds must not
 * depend on what its parent does meanwhile. Of the file's holes there is nothing to copy. */
static void copy_variables(struct node_alias *a)
{
    off_t start = (off_t)a->position, end = start + (off_t)a->size, data = start, hole;
    a->copy = mmap(NULL, a->size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->copy == MAP_FAILED) {
        a->copy = NULL;
        return;
    }
    while ((data = lseek(file, data, SEEK_DATA)) >= 0 && data < end) {
        hole = lseek(file, data, SEEK_HOLE);
        hole = hole < 0 || hole > end ? end : hole;
        memcpy(a->copy + (data - start), a->at + (data - start), (size_t)(hole - data));
        data = hole;
    }
}

static void before_fork(void)
{
    for (uint32_t i = 0; node.header && i < node.aliases; i++)
        if (node.alias[i].variables && file_is_ours())
            copy_variables(&node.alias[i]);
}

static void in_parent(void)
{
    for (uint32_t i = 0; i < node.aliases; i++)
        if (node.alias[i].copy) {
            munmap(node.alias[i].copy, node.alias[i].size);
            node.alias[i].copy = NULL;
        }
}

/* The copy takes the variables' place; without one they stay shared. By a bare system call: UCX
 * stands before mremap() and forgets where to. */
static void take_copy(struct node_alias *a)
{
    int how = MREMAP_MAYMOVE | MREMAP_FIXED;
    if (!a->copy || syscall(SYS_mremap, a->copy, a->size, a->size, how, a->at) == -1)
        log_message(0, "a child of fork shares variables with its parent: no memory for a copy");
}

static bool make_private(char *at, size_t size, uint64_t position)
{
    bool made = mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                     file, (off_t)position) != MAP_FAILED;
    if (made)
        madvise(at, size, MADV_DONTDUMP);
    return made;
}

/* What the child writes must not reach the parent's peers: its slice becomes a private copy of the
 * file's pages. The rest of the file was not inherited. If the program has closed our descriptor,
 * the slice stays shared, as memory of MPI_Win_allocate_shared does under any host. */
static void in_child(void)
{
    if (!node.header)
        return;
    for (uint32_t i = 0; i < node.aliases; i++)
        if (node.alias[i].variables)
            take_copy(&node.alias[i]);
    node.header = NULL;
    node.forked = true;
    node.why_not = REASON_FORKED;
    if (!file_is_ours())
        return;
    char *slice = node_slice(node.me);
    bool made = make_private(slice, node.slice_size, (uint64_t)(slice - node.base));
    for (uint32_t i = 0; i < node.aliases; i++)
        if (!node.alias[i].variables)
            made &= make_private(node.alias[i].at, node.alias[i].size, node.alias[i].position);
    if (!made)
        log_message(
            1,
            "a child of fork shares the memory of MPI_Alloc_mem with its parent: %m; set a smaller "
            "MPIACCEL_HEAP_SIZE");
}

/* ---- second views ---- */

bool node_add_alias(char *at, size_t size, uint64_t position, bool variables, bool replace)
{
    int how = replace ? MAP_FIXED : MAP_FIXED_NOREPLACE;
    if (node.aliases == NODE_ALIASES_MAX)
        return false;
    char *got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | how, file,
                     (off_t)position);
    if (got == MAP_FAILED)
        return false;
    if (got != at) { /* a kernel before 4.17 takes the address for a hint */
        munmap(got, size);
        return false;
    }
    node.alias[node.aliases++] = (struct node_alias){at, size, position, variables, NULL};
    return true;
}

void node_drop_alias(char *at)
{
    for (uint32_t i = 0; i < node.aliases; i++)
        if (node.alias[i].at == at) {
            munmap(at, node.alias[i].size);
            node.alias[i] = node.alias[--node.aliases];
            return;
        }
}

bool node_alias_position(const void *at, size_t bytes, uint64_t *position)
{
    const char *p = at;
    for (uint32_t i = 0; i < node.aliases; i++) {
        const struct node_alias *a = &node.alias[i];
        if (p >= a->at && p < a->at + a->size) {
            *position = a->position + (uint64_t)(p - a->at);
            return bytes <= (size_t)(a->at + a->size - p);
        }
    }
    return false;
}

void node_open_views(int shared_file)
{
    file = shared_file;
    fstat(file, &file_identity);
    pthread_atfork(before_fork, in_parent, in_child);
}
