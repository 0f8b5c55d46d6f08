/* Hosts that copy from process to process although the OS refuses it.
 *
 * Docker before 20.10 and Kubernetes (RuntimeDefault) start containers with a seccomp filter that
 * refuses process_vm_readv() and process_vm_writev(). Open MPI 4 does not find that out: it tries
 * to copy each longer message again and again, so the message never arrives
 * (QUIRK_COPIES_UNCHECKED). There the library chooses the setting that Open MPI has for this case,
 * with which it sends long messages in pieces through shared memory.
 */
#ifndef MPIACCEL_REFUSED_COPIES_H
#define MPIACCEL_REFUSED_COPIES_H

#include "node/job.h"

/* Call before the host is initialized. Does nothing if somebody has made the setting, or if Open
 * MPI has another way to copy. */
void refused_copies_avoid(const struct job *job);

#endif
