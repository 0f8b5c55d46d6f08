/* Preload this to imitate a Linux, or a container's seccomp filter, without memfd_create(). */
#include <errno.h>

int memfd_create(const char *name, unsigned flags);

int memfd_create(const char *name, unsigned flags)
{
    (void)name, (void)flags;
    errno = ENOSYS;
    return -1;
}
