#include "pmpi_wrap/refused_copies.h"

#include "pmpi_wrap/host_settings.h"
#include "pmpi_wrap/quirks.h"

#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

/* Every process may copy from itself, unless a filter refuses the system call. */
static bool are_refused(void)
{
    char source = 0, copy;
    struct iovec local = {&copy, sizeof copy}, remote = {&source, sizeof source};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != sizeof copy;
}

static bool has_another_way(void)
{
    return !access("/dev/xpmem", F_OK) || !access("/dev/knem", F_OK);
}

void refused_copies_avoid(const struct job *job)
{
    const char *setting = "OMPI_MCA_btl_vader_single_copy_mechanism";
    if (quirk(QUIRK_COPIES_UNCHECKED) && job->local_size > 1 && !getenv(setting) &&
        !has_another_way() && are_refused())
        host_settings_choose(setting, "emulated");
}
