#include "pmpi_wrap/pmix_fence.h"

#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- the interface of PMIx, whose header a host need not install ---- */

typedef struct {
    char nspace[256];
    uint32_t rank;
} pmix_proc_t;

/* The union may have another size in other releases, so no array has more than one element here. */
typedef struct {
    uint16_t type;
    union {
        bool flag;
        uint64_t uint64;
        void *pointers[3];
    } data;
} pmix_value_t;

typedef struct {
    char key[512];
    uint32_t flags;
    pmix_value_t value;
} pmix_info_t;

enum { PMIX_SUCCESS = 0, PMIX_OPERATION_SUCCEEDED = -157, PMIX_GLOBAL = 3 };
enum { PMIX_UNDEF = 0, PMIX_BOOL = 1, PMIX_UINT64 = 15 };
#define PMIX_RANK_WILDCARD (UINT32_MAX - 1)

typedef void done_fn(int status, void *data);
typedef int fence_fn(const pmix_proc_t *, size_t, const pmix_info_t *, size_t);
typedef int fence_nb_fn(const pmix_proc_t *, size_t, const pmix_info_t *, size_t, done_fn *,
                        void *);
typedef int put_fn(uint8_t scope, const char *key, pmix_value_t *);
typedef int commit_fn(void);
typedef int get_fn(const pmix_proc_t *, const char *key, const pmix_info_t *, size_t,
                   pmix_value_t **);

EXPORT int PMIx_Fence(const pmix_proc_t *, size_t, const pmix_info_t *, size_t);
EXPORT int PMIx_Fence_nb(const pmix_proc_t *, size_t, const pmix_info_t *, size_t, done_fn *,
                         void *);

/* ---- the key ---- */

enum fence_state { FENCE_IDLE, FENCE_AWAITED, FENCE_ENTERED, FENCE_SUCCEEDED, FENCE_FAILED };

static struct {
    _Atomic enum fence_state state;
    pthread_t thread; /* the one that is in MPI_Init */
    uint64_t value;
    unsigned number; /* of calls of MPI_Init */
    done_fn *done;   /* the host's, for PMIx_Fence_nb */
    void *data;
} fence;

static void name_key(char name[32])
{
    snprintf(name, 32, "mpiaccel.%u", fence.number);
}

static bool has_all_ranks(const pmix_proc_t *processes, size_t number)
{
    const char *own = getenv("PMIX_NAMESPACE");
    return own && (!processes || (number == 1 && processes->rank == PMIX_RANK_WILDCARD &&
                                  !strncmp(processes->nspace, own, sizeof processes->nspace)));
}

static bool collects_data(const pmix_info_t *info, size_t number)
{
    return info && number && !strcmp(info->key, "pmix.collect") &&
           (info->value.type == PMIX_UNDEF ||
            (info->value.type == PMIX_BOOL && info->value.data.flag));
}

/* Find another function of the library that defines PMIx_Fence. */
static void *pmix_function(const char *name)
{
    void *definition, *library = symbol_definer("PMIx_Fence", &definition);
    if (!library)
        return NULL;
    void *found = dlsym(library, name);
    dlclose(library); /* the host keeps it loaded */
    return found;
}

/* Whether the key is committed. */
static bool put_key(void)
{
    put_fn *put = (put_fn *)pmix_function("PMIx_Put");
    commit_fn *commit = (commit_fn *)pmix_function("PMIx_Commit");
    pmix_value_t value = {.type = PMIX_UINT64, .data.uint64 = fence.value};
    char name[32];
    name_key(name);
    return put && commit && put(PMIX_GLOBAL, name, &value) == PMIX_SUCCESS &&
           commit() == PMIX_SUCCESS;
}

/* Whether this is the fence that the library waits for, and carries the key. */
static bool enter_fence(const pmix_proc_t *processes, size_t number, const pmix_info_t *info,
                        size_t infos)
{
    if (fence.state != FENCE_AWAITED || !pthread_equal(fence.thread, pthread_self()) ||
        !has_all_ranks(processes, number) || !collects_data(info, infos) || !put_key())
        return false;
    fence.state = FENCE_ENTERED;
    return true;
}

static void leave_fence(int status)
{
    bool succeeded = status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
    fence.state = succeeded ? FENCE_SUCCEEDED : FENCE_FAILED;
}

int PMIx_Fence(const pmix_proc_t *processes, size_t number, const pmix_info_t *info, size_t infos)
{
    fence_fn *next = (fence_fn *)symbol_next("PMIx_Fence");
    bool carries = enter_fence(processes, number, info, infos);
    int status = next(processes, number, info, infos);
    if (carries)
        leave_fence(status);
    return status;
}

/* PMIx calls this in a thread of its own. */
static void fence_is_over(int status, void *unused)
{
    (void)unused;
    done_fn *done = fence.done;
    void *data = fence.data;
    leave_fence(status);
    if (done)
        done(status, data);
}

int PMIx_Fence_nb(const pmix_proc_t *processes, size_t number, const pmix_info_t *info,
                  size_t infos, done_fn *done, void *data)
{
    fence_nb_fn *next = (fence_nb_fn *)symbol_next("PMIx_Fence_nb");
    if (!done || !enter_fence(processes, number, info, infos))
        return next(processes, number, info, infos, done, data);
    fence.done = done;
    fence.data = data;
    int status = next(processes, number, info, infos, fence_is_over, NULL);
    if (status != PMIX_SUCCESS)
        leave_fence(status); /* PMIx calls back only after PMIX_SUCCESS */
    return status;
}

/* ---- for MPI_Init ---- */

void pmix_fence_begins(uint64_t value)
{
    fence.thread = pthread_self();
    fence.value = value;
    fence.number++;
    fence.state = FENCE_AWAITED;
}

bool pmix_fence_ended(void)
{
    static const struct timespec pause = {0, 100000};
    while (fence.state == FENCE_ENTERED)
        nanosleep(&pause, NULL);
    bool carried = fence.state == FENCE_SUCCEEDED;
    fence.state = FENCE_IDLE;
    return carried;
}

static bool has_value(get_fn *get, const pmix_proc_t *process, uint64_t value)
{
    static const pmix_info_t at_once = {.key = "pmix.immediate",
                                        .value = {.type = PMIX_BOOL, .data.flag = true}};
    pmix_value_t *found = NULL;
    char name[32];
    name_key(name);
    if (get(process, name, &at_once, 1, &found) != PMIX_SUCCESS || !found)
        return false;
    bool equal = found->type == PMIX_UINT64 && found->data.uint64 == value;
    free(found);
    return equal;
}

bool pmix_fence_all_have(uint64_t value, int ranks)
{
    get_fn *get = (get_fn *)pmix_function("PMIx_Get");
    const char *namespace = getenv("PMIX_NAMESPACE");
    pmix_proc_t process;
    if (!get || !namespace)
        return false;
    snprintf(process.nspace, sizeof process.nspace, "%s", namespace);
    for (process.rank = 0; process.rank < (uint32_t)ranks; process.rank++)
        if (!has_value(get, &process, value))
            return false;
    return true;
}
