/* What the host copies from process to process (cross-memory attach): without the kernel, where the
 * other process's memory is in the file that we share.
 *
 * The receiver of a long message has the kernel fetch it: process_vm_readv() finds the sender by
 * its number, pins its pages one by one, and copies. We stand before that function
 * (pmpi_wrap/process_vm_entry.c). What lies in the shared file, as memory of MPI_Alloc_mem and our
 * copies of buffered messages do, this process has in its own address space too, so it is a plain
 * copy: the same bytes, to the same place, without a system call. Of 16 KiB it takes a tenth of the
 * time if they are in both caches, two thirds if the sender has just written them (HACKING.md). All
 * else about a message, matching and order above all, is the host's as before.
 *
 * A peer's address means a place in the file by the base of its mapping, which stands in its record
 * (core/layout.h), written before the verdict and read after it. The mapping stays until the
 * process ends. What a peer's second views show (alloc/views.c) is left to the kernel. Whether the
 * bytes are there yet, and may be overwritten, the host knows by messages that it sends before and
 * after each copy, as it must for the kernel's.
 *
 * A child of fork shares nothing, and asks the kernel. Should two members have one number, which
 * they can in PID namespaces of their own, neither is known here.
 */
#ifndef MPIACCEL_CMA_H
#define MPIACCEL_CMA_H

#include "core/base.h"

/* When the node has settled. */
void vm_copy_open(void);

/* Copy between `here` and the address `there` of process `pid`. False: nothing is done, it is for
 * the kernel. */
bool vm_copy_read(int pid, void *here, uint64_t there, size_t bytes);
bool vm_copy_write(int pid, uint64_t there, const void *here, size_t bytes);

#endif
