/* A receiver of this process that copies as its host does. */
#ifndef UNIT_RECEIVER_H
#define UNIT_RECEIVER_H

#include "pmpi_wrap/process_vm_entry.h"
#include "tests/unit/unit.h"

#include <sys/uio.h>
#include <unistd.h>

static inline void receive_as_host(char *to, const char *from, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(char *)from, bytes};
    EXPECT(process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes);
}

#endif
