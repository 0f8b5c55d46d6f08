/* process_vm_readv and process_vm_writev, the functions of the C library by which hosts copy from
 * process to process (cross-memory attach): without the OS if the other process's memory is in the
 * node's file.
 *
 * The receiver of a long message calls process_vm_readv(), in which the OS finds the sender by its
 * process id, pins its pages one by one, and copies. This library defines that function too, and
 * the host finds this definition first. Memory of MPI_Alloc_mem and copies of buffered messages are
 * in the node's file, which this process has mapped, so a plain copy moves the same bytes without a
 * system call. For 16 KiB it takes a tenth of the time if the data are in both caches, two thirds
 * if the sender has just written them (docs/measurements.md#copies-between-processes). Everything
 * else about a message, above all matching and order, is left to the host.
 *
 * A peer's address is turned into a position in the file by the base of the peer's mapping. The
 * base is in the peer's record (core/layout.h), which is written before the verdict and read after
 * it, and the mapping exists until the process ends. Addresses in its heap of malloc, or its early
 * heap, are turned into a position in the statics part of its slice; those in other aliases
 * (node/node.h) are left to the OS. The host ensures that the data are complete before a copy and
 * not overwritten during it: it sends messages before and after each copy, as it must when the OS
 * copies.
 *
 * A child of fork shares nothing and leaves all copies to the OS. If two members have the same
 * process id, as is possible in separate PID namespaces, copies with either are left to the OS.
 *
 * A copy that is left to the OS goes to the next definition, which may be a tool's. In a process
 * without MPI nothing else happens (H1: loaded into processes without MPI).
 */
#ifndef MPIACCEL_PROCESS_VM_ENTRY_H
#define MPIACCEL_PROCESS_VM_ENTRY_H

/* Call once, when the node has settled. Until then all copies are left to the OS. */
void process_vm_open(void);

#endif
