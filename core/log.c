#include "core/log.h"

#include "core/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static int rank = -1;

void log_set_rank(int world_rank)
{
    rank = world_rank;
}

void log_message(unsigned level, const char *format, ...)
{
    if (level > config.verbose)
        return;
    char line[1024];
    int used = rank < 0 ? snprintf(line, sizeof line, "mpiaccel: ")
                        : snprintf(line, sizeof line, "mpiaccel: rank %d: ", rank);
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(line + used, sizeof line - 1 - (size_t)used, format, arguments);
    va_end(arguments);
    if ((size_t)used > sizeof line - 2)
        used = sizeof line - 2;
    line[used++] = '\n';
    /* One write(), so that lines of different ranks do not mix. */
    if (write(STDERR_FILENO, line, (size_t)used) < 0)
        return;
}
