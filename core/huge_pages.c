#include "core/huge_pages.h"

#include "core/os_number.h"

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

/* Linux prints the setting that holds in brackets. */
static bool setting_is(const char *text, const char *value)
{
    const char *found = strchr(text, '[');
    return found && !strncmp(found + 1, value, strlen(value)) && found[1 + strlen(value)] == ']';
}

enum huge_pages huge_pages_of_shared_memory(void)
{
    char private[128], shared[128];
    os_text(HUGE_PAGES_FOLDER "enabled", private, sizeof private);
    os_text(HUGE_PAGES_FOLDER "shmem_enabled", shared, sizeof shared);
    if (!setting_is(private, "always") || prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
        return HUGE_PAGES_EQUAL;
    if (setting_is(shared, "always") || setting_is(shared, "force") ||
        setting_is(shared, "within_size"))
        return HUGE_PAGES_EQUAL;
    return setting_is(shared, "advise") ? HUGE_PAGES_ADVISED : HUGE_PAGES_PRIVATE;
}
