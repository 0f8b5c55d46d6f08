#include "core/cgroup.h"

#include "core/os_number.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *own_cgroups = "/proc/self/cgroup", *cgroup_root = "/sys/fs/cgroup";

static bool names_controller(char *list, const char *name)
{
    for (char *rest, *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        if (!strcmp(word, name))
            return true;
    return false;
}

/* Lines are such as "4:cpu,cpuacct:/path" (version 1) and "0::/path" (version 2). In version 1 each
 * controller has a folder of its own name. A controller belongs to one version only, so the line of
 * version 2 counts if no other one names the controller. Returns whether one of these lines does.
 */
static bool find_in_lines(char *text, const char *controller, struct cgroup *found)
{
    for (char *rest, *line = strtok_r(text, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        bool is_unified = !*++list;
        if (!is_unified && !names_controller(list, controller))
            continue;
        int length = snprintf(found->folder, sizeof found->folder, "%s%s%s%s", cgroup_root,
                              is_unified ? "" : "/", is_unified ? "" : controller, path);
        if (length >= (int)sizeof found->folder)
            found->folder[0] = 0;
        if (!is_unified)
            return true;
    }
    return false;
}

struct cgroup cgroup_innermost(const char *controller)
{
    struct cgroup found = {""};
    char text[2048], *end;
    int file = open(own_cgroups, O_RDONLY | O_CLOEXEC);
    off_t at = 0;
    for (ssize_t length; file >= 0 && (length = pread(file, text, sizeof text - 1, at)) > 0;) {
        text[length] = 0;
        end = strrchr(text, '\n');
        if (!end)
            break;
        *end = 0;
        at += end + 1 - text;
        if (find_in_lines(text, controller, &found))
            break;
    }
    if (file >= 0)
        close(file);
    return found;
}

/* In a container the path may be that outside the container, which does not exist inside. Then the
 * container's own cgroup is found at the root. */
bool cgroup_go_out(struct cgroup *cgroup)
{
    if (strlen(cgroup->folder) <= strlen(cgroup_root))
        return false;
    *strrchr(cgroup->folder, '/') = 0;
    return true;
}

static void read_file(const struct cgroup *cgroup, const char *name, char *text, size_t size)
{
    char path[sizeof cgroup->folder + 32];
    text[0] = 0;
    if (cgroup->folder[0] &&
        snprintf(path, sizeof path, "%s/%s", cgroup->folder, name) < (int)sizeof path)
        os_text(path, text, size);
}

int cgroup_numbers(const struct cgroup *cgroup, const char *name, long *numbers, int count)
{
    char text[128], *at = text;
    int found = 0;
    read_file(cgroup, name, text, sizeof text);
    for (char *end; found < count; found++, at = end) {
        numbers[found] = strtol(at, &end, 10);
        if (end == at)
            break;
    }
    return found;
}

long cgroup_number_of(const struct cgroup *cgroup, const char *name, const char *word)
{
    char text[2048];
    size_t length = strlen(word);
    read_file(cgroup, name, text, sizeof text);
    for (char *rest, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!strncmp(line, word, length) && line[length] == ' ')
            return strtol(line + length, NULL, 10);
    return 0;
}
