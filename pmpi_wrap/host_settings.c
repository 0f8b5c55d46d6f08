#include "pmpi_wrap/host_settings.h"

#include "core/base.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct variable {
    char name[48];
} chosen[3];
static uint32_t chosen_count;

void host_settings_choose(const char *name, const char *value)
{
    assert(chosen_count < sizeof chosen / sizeof *chosen);
    struct variable *variable = &chosen[chosen_count++];
    snprintf(variable->name, sizeof variable->name, "%s", name);
    setenv(name, value, 1);
}

void host_settings_end(void)
{
    while (chosen_count)
        unsetenv(chosen[--chosen_count].name);
}
