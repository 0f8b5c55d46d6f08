/* Notices of objects that the host frees.
 *
 * A program may free an object past this library: Julia, ctypes and the like look up MPI_Comm_free
 * in the host's own library. The host then gives the handle to another object, for which the
 * registries would still find the old one. So each registered object that can be freed has an
 * attribute, whose delete function the host calls, whoever frees it.
 *
 * The attribute is set when an object is registered, that is, when it is first used. A communicator
 * that has been created and freed without a collective call has none, so it costs nothing.
 * What is remembered about it (communicators/from_parent.h) is forgotten when another communicator
 * gets its handle, from any call that creates one inside the job.
 *
 * If the object is freed through this library, the handler removes it, and the delete function does
 * nothing: it finds no entry. A delete function may run in any call of the host, and in Open MPI
 * while the host holds a lock. So it neither waits nor calls the host.
 *
 * Requests have no attributes. Only requests of persistent buffered sends are registered
 * (buffered_sends/persistent.h), until another persistent request gets the handle. User-defined
 * operations, groups, infos, error handlers, files and sessions are not registered.
 */
#ifndef MPIACCEL_FREE_NOTICE_H
#define MPIACCEL_FREE_NOTICE_H

#include "pmpi_wrap/abi/host_api.h"

/* Call before and after the time in which objects are registered. Delete functions that the host
 * calls later, to free what the program has left, do nothing. */
void free_notice_begin(void);
void free_notice_end(void);

/* Call when the object has been registered and the host has accepted its handle. No notice is
 * needed for MPI_COMM_WORLD, MPI_COMM_SELF and predefined datatypes. */
void free_notice_comm(MPI_Comm comm);
void free_notice_type(MPI_Datatype type);
void free_notice_win(MPI_Win win);

#endif
