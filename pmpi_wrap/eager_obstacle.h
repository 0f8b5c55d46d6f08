/* Why the library does not raise a host's eager limit (pmpi_wrap/eager_limit.h): what can be read
 * from the settings, the environment and the machine, also by `mpiaccel info`, which has no job.
 */
#ifndef MPIACCEL_EAGER_OBSTACLE_H
#define MPIACCEL_EAGER_OBSTACLE_H

#include "core/base.h"

enum eager_obstacle {
    EAGER_NO_OBSTACLE,
#define EAGER_OBSTACLE(name, text, advice) EAGER_OBSTACLE_##name,
#include "pmpi_wrap/eager_obstacles.def"
#undef EAGER_OBSTACLE
    EAGER_OBSTACLES
};

/* By enum eager_obstacle, for users; NULL for EAGER_NO_OBSTACLE. */
extern const char *const eager_obstacle_texts[EAGER_OBSTACLES],
    *const eager_obstacle_advice[EAGER_OBSTACLES];

struct eager_host {
    const char *name, *version, *device, *library; /* `library`: its file */
    size_t limit;                                  /* the raised limit, in bytes */
    uint32_t ranks;                                /* on this node */
};

/* Open MPI's name of the component that sends inside a node. */
const char *eager_component(const char *version);

/* The size of the file of each rank in /dev/shm in which Open MPI has room for as many messages as
 * with its default limit. */
size_t eager_segment_size(size_t limit);

/* Returns the first obstacle. With EAGER_OBSTACLE_TUNED, `setting`, of EAGER_SETTING_ROOM bytes,
 * becomes the setting that somebody has made, or the file that contains it; otherwise it becomes
 * empty. */
enum { EAGER_SETTING_ROOM = 256 };
enum eager_obstacle eager_obstacle_of(const struct eager_host *host, char *setting);

#endif
