#include "node/fork.h"

#include "core/log.h"
#include "node/memfd.h"
#include "node/snapshot.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mapping {
    enum fork_kind kind;
    struct memfd memfd;
    uint64_t position;
    char *address;
    size_t size;
    char *copy; /* of variables, during a fork */
} mappings[64];
static unsigned mapping_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* two threads may fork at once */

static size_t bytes_of_variables(void)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        if (m->kind == FORK_VARIABLES)
            bytes += memfd_is_open(&m->memfd) ? snapshot_bytes(m->memfd.file, m->size) : m->size;
    }
    return bytes;
}

/* Without memory for a copy, the child gets a private mapping of the file, in which a page shows
 * what the parent writes until the child writes to it. */
static void copy_variables(struct mapping *m, bool has_room)
{
    bool is_open = memfd_is_open(&m->memfd);
    if (has_room && (m->copy = snapshot_map(-1, 0, m->size))) {
        struct snapshot_extent extent = {0};
        if (is_open)
            snapshot_copy(m->memfd.file, &extent, m->position, m->copy, m->address, m->size);
        else
            memcpy(m->copy, m->address, m->size);
        return;
    }
    if (is_open)
        m->copy = snapshot_map(m->memfd.file, m->position, m->size);
    log_once(
        0,
        "a child of fork sees what this process later writes to its static variables, "
        "unless it calls exec: there is not enough memory for a copy; run with MPIACCEL_STATICS=0 "
        "if that matters");
}

/* A thread that has been cancelled must not end here, with the mutex locked: fork() is no
 * cancellation point, but pread() is. */
static void node_before_fork(void)
{
    int cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    pthread_mutex_lock(&mutex);
    size_t bytes = bytes_of_variables();
    bool has_room = !bytes || snapshot_has_room(bytes);
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].kind == FORK_VARIABLES)
            copy_variables(&mappings[i], has_room);
    pthread_setcancelstate(cancelling, NULL);
}

static void node_in_parent(void)
{
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].copy) {
            munmap(mappings[i].copy, mappings[i].size);
            mappings[i].copy = NULL;
        }
    pthread_mutex_unlock(&mutex);
}

static void take_copy(const struct mapping *m)
{
    if (!m->copy || !snapshot_replace(m->address, m->copy, m->size))
        log_message(0, "a child of fork shares variables with its parent: no memory for a copy");
}

static bool map_privately(const struct mapping *m, size_t start, size_t end)
{
    char *new = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                     m->memfd.file, (off_t)(m->position + start));
    if (new == MAP_FAILED)
        return false;
    return snapshot_replace(m->address + start, new, end - start);
}

/* A heap is as large as the memory of the machine, which is more than a limit on data (ulimit -d)
 * or strict accounting (vm.overcommit_memory=2) lets a process make private. */
static bool make_private(const struct mapping *m)
{
    bool made = map_privately(m, 0, m->size);
    if (!made) {
        struct snapshot_extent extent = {0};
        made = true;
        for (size_t start, end = 0; made && snapshot_next_data(m->memfd.file, &extent, m->position,
                                                               m->size, &start, &end);)
            made = map_privately(m, start, end);
    }
    if (made)
        madvise(m->address, m->size, MADV_DONTDUMP);
    return made;
}

static void replace_mappings_in_child(void)
{
    bool all = true;
    for (unsigned i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        if (m->kind == FORK_VARIABLES)
            take_copy(m);
        else if (memfd_is_open(&m->memfd))
            all &= make_private(m);
    }
    if (!all)
        log_message(1, "a child of fork shares the memory of MPI_Alloc_mem with its parent: %m");
    mapping_count = 0; /* a child of the child has nothing shared to begin with */
    pthread_mutex_init(&mutex, NULL);
}

bool fork_add(enum fork_kind kind, char *address, size_t size, int file, uint64_t position)
{
    static bool registered;
    struct memfd memfd;
    if (mapping_count == sizeof mappings / sizeof *mappings || !memfd_keep(&memfd, file))
        return false;
    if (!registered)
        pthread_atfork(node_before_fork, node_in_parent, replace_mappings_in_child);
    registered = true;
    pthread_mutex_lock(&mutex);
    mappings[mapping_count++] = (struct mapping){
        .kind = kind, .memfd = memfd, .position = position, .address = address, .size = size};
    pthread_mutex_unlock(&mutex);
    return true;
}

void fork_remove(const char *address)
{
    pthread_mutex_lock(&mutex);
    for (unsigned i = 0; i < mapping_count; i++)
        if (mappings[i].address == address) {
            mappings[i] = mappings[--mapping_count];
            break;
        }
    pthread_mutex_unlock(&mutex);
}
