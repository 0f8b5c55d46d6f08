#include "pmpi_wrap/eager_limit.h"

#include "core/config.h"
#include "heap/interface.h"
#include "pmpi_wrap/eager_obstacle.h"
#include "pmpi_wrap/host_identity.h"
#include "pmpi_wrap/host_settings.h"
#include "pmpi_wrap/quirks.h"
#include "pmpi_wrap/symbols.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The decision, which is made once, when the host is first initialized. */
static struct {
    size_t raised, wanted; /* 0: the host has its own limit */
    enum eager_obstacle obstacle;
    char setting[EAGER_SETTING_ROOM];
} decision;

static void choose_size(const char *name, size_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%zu", value);
    host_settings_choose(name, text);
}

static void raise_open_mpi(size_t limit)
{
    enum { HEADERS = 64 };
    char name[64];
    const char *component = eager_component(host_identity.version);
    snprintf(name, sizeof name, "OMPI_MCA_btl_%s_eager_limit", component);
    choose_size(name, limit + HEADERS);
    snprintf(name, sizeof name, "OMPI_MCA_btl_%s_segment_size", component);
    choose_size(name, eager_segment_size(limit));
}

/* UCX has one limit for all transports, so the job must not have ranks on other nodes. */
static bool has_one_node(const struct job *job)
{
    const char *size = getenv("PMI_SIZE");
    return size && strtoul(size, NULL, 10) == job->local_size;
}

/* Longer messages out of the heap of malloc are copied directly, which is faster still. */
static size_t wanted_limit(void)
{
    bool has_heap = config.heap && dlsym(RTLD_DEFAULT, MALLOC_HEAP_OPEN_NAME);
    return has_heap ? min_size(config.eager, config_heap_min()) : config.eager;
}

/* The path stays valid: the host is in use. */
static const char *file_of_host(void)
{
    void *function = NULL, *library = symbol_definer("PMPI_Get_library_version", &function);
    if (library)
        dlclose(library);
    return function ? symbol_file((mpi_fn *)function) : "";
}

static enum eager_obstacle decide_obstacle(const struct job *job, size_t limit)
{
    const struct eager_host host = {
        .name = host_identity.name,
        .version = host_identity.version,
        .device = host_identity.device,
        .library = file_of_host(),
        .limit = limit,
        .ranks = job->local_size,
    };
    if (job->local_size < 2)
        return EAGER_OBSTACLE_ALONE;
    enum eager_obstacle found = eager_obstacle_of(&host, decision.setting);
    return found || !strcmp(host.name, "Open MPI") || has_one_node(job) ? found
                                                                        : EAGER_OBSTACLE_NODES;
}

void eager_limit_raise(const struct job *job)
{
    size_t limit = wanted_limit();
    decision.wanted = limit;
    decision.obstacle = decide_obstacle(job, limit);
    if (decision.obstacle)
        return;
    decision.raised = limit;
    if (limit < config.eager)
        decision.obstacle = EAGER_OBSTACLE_HEAP;
    if (!strcmp(host_identity.name, "Open MPI"))
        raise_open_mpi(limit);
    else
        choose_size("UCX_RNDV_THRESH", limit + 1);
}

size_t eager_limit(void)
{
    return decision.raised ? decision.raised : quirk(QUIRK_EAGER_BYTES);
}

bool eager_limit_would_have_sent(uint64_t bytes)
{
    return !decision.raised && bytes <= decision.wanted;
}

struct stats_eager eager_limit_state(void)
{
    return (struct stats_eager){.raised = decision.raised,
                                .wanted = decision.wanted,
                                .why_not = eager_obstacle_texts[decision.obstacle],
                                .advice = eager_obstacle_advice[decision.obstacle],
                                .setting = decision.setting};
}
