/* How the ranks of a job on one node find each other and come to share a file.
 *
 * Before the host's MPI_Init each rank takes or joins an abstract Unix socket whose name is made
 * from the user and the job: the first rank binds it and becomes the leader, the others connect and
 * send a greeting. The host's MPI_Init synchronises all ranks, with this library or without. So
 * when it has returned, the leader has every connection that will ever come, and no rank waits for
 * a rank without the library (H3: not all ranks have it). If the ranks counted are as many as the
 * launcher started on this node, the node is complete. If there are fewer, the node is partial, and
 * the ranks that have the library defer everything. A rank that comes later finds no listener,
 * leads a group of one rank and finds it partial.
 *
 *   member                              leader
 *   connect, greeting, own statics ────▸ (queued in the socket)
 *   ─ host's MPI_Init ─                  ─ host's MPI_Init ─
 *                                        accepts all, counts, creates the file, maps all statics
 *           ◂─────────────────────────── offer: the file's descriptor, or none
 *   maps it, writes its record
 *           ◂─────────────────────────── all members' statics, FD_MESSAGE_MAX in one message
 *   maps them
 *   answer ────────────────────────────▸ sets header.statics_shared if all have mapped all statics
 *   waits for header.verdict             header.verdict = complete or partial
 *
 * Statics are the files with the members' static variables (alloc/statics.h). The messages with
 * them are sent only if some member has any; the offer holds their number. If one descriptor is
 * missing, for instance because of a limit on open files, or one member cannot map one of them,
 * statics are shared by no member, and the node is complete all the same. The members learn this
 * from header.statics_shared, so windows over statics are deferred on all ranks alike (H13:
 * decisions are equal on all ranks).
 *
 * Greeting, offer and answer are checked: user (as reported by the OS), magic, version. The
 * greeting holds LAYOUT_VERSION, so ranks with two versions of this library do not mix. Sockets and
 * memory files have no name in any file system: nothing is left behind, no matter which process
 * dies when, no limit of /dev/shm applies, and no /proc is needed. A member that dies in between
 * closes its connection, and the node is partial. If the leader dies, the members see the end of
 * its connection, or the host ends the job.
 */
#ifndef MPIACCEL_RENDEZVOUS_H
#define MPIACCEL_RENDEZVOUS_H

#include "alloc/job.h"

/* Before rendezvous_enter(): bytes of each slice for the symmetric heap (0: as much as for the
 * heap), and the file with this process's static variables (-1: none). The file stays the caller's.
 */
void rendezvous_want(size_t symmetric, int statics_file);

/* Call rendezvous_enter() before the host's MPI_Init, and rendezvous_settle() after it. After the
 * second, `node` is open, or node.why_not has the reason. */
void rendezvous_enter(const struct job *job);
void rendezvous_settle(int world_rank, int world_size);

#endif
