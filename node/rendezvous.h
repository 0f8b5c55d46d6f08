/* How the ranks of a job on one node find each other and come to share a file.
 *
 * Meeting. Before the host's MPI_Init each rank takes a place (node/places.h); the rank at place 0
 * is the leader. The host's MPI_Init synchronises all ranks, with this library or without. So when
 * MPI_Init has returned, every rank that has the library has taken its place, and the leader calls
 * as many places as the launcher started ranks on this node. It waits for no rank that is not there
 * (H3: not all ranks have the library). If all are there, the node is complete. If not, the node is
 * partial, and the ranks that have the library defer everything. A rank that comes later leads a
 * group of one rank and finds it partial.
 *
 *   member                              leader
 *   takes its place                      takes place 0
 *   ─ host's MPI_Init ─                  ─ host's MPI_Init ─
 *           ◂─────────────────────────── calls all members
 *   greeting, own statics ─────────────▸ counts and compares; creates the file, maps all statics
 *           ◂─────────────────────────── offer: the file's descriptor, or none
 *   maps it, writes its record
 *           ◂─────────────────────────── all members' statics, FD_MESSAGE_MAX in one message
 *   maps them
 *   answer ────────────────────────────▸ sets header.statics_shared if all have mapped all statics
 *   waits for header.verdict             header.verdict = confirm, or partial
 *   sends header.token to the next member, and compares what it gets from the previous one, by the
 *   host; publishes the result in its record
 *   waits for header.verdict             reads all results; header.verdict = complete, or partial
 *
 * Members keep their places until the offer has come, and the leader makes offers when it has
 * called all, so a member that gives up was not called. Later, a rank that dies closes its
 * connection to the leader, or the leader closes those to all members.
 *
 * Membership. The launcher's description of the job may not be the host's: variables may come from
 * another launcher (node/job.h), and two jobs may have equal keys. So the node is complete only if
 * it has exactly the expected number of ranks, their world ranks differ and are those that the
 * launcher has given them, and MPI_COMM_WORLD has the same size for all of them. Then every member
 * compares the token, which the leader has drawn, with the one of the member before it, in a
 * message of the host on MPI_COMM_WORLD. A member that belongs to another world would get a message
 * from another rank, which has another token. All members have the library and are here, so the
 * exchange waits for no other rank; the host keeps these messages apart from the program's, which
 * are sent later. In two cases a message may fail to come: if three jobs have equal keys, sizes and
 * numbers of ranks; or if two jobs have equal ones, and some ranks of both run without the library.
 * The wait for the message is bounded.
 *
 * With sessions, threads may create several communicators of all processes at the same time, and
 * the ranks may meet in different ones. A message on one of them would not arrive on another one,
 * and would be received by the program. So each greeting names the communicator, and if they
 * differ, the node is partial, and no message is sent.
 *
 * Statics are the files with the members' static variables (node/statics.h). The messages with
 * them are sent only if some member has any; the offer holds their number. If one descriptor is
 * missing, for instance because of a limit on open files, or one member cannot map one of them,
 * statics are shared by no member, and the node is complete all the same. The members read this
 * in header.statics_shared, so windows over statics are deferred on all ranks alike (H13:
 * decisions are equal on all ranks).
 *
 * Both ends of a connection check the user (as reported by the OS), a magic number and
 * LAYOUT_VERSION, so ranks with two versions of this library do not mix. Sockets and memory files
 * have no name in any file system: nothing is left behind, no matter which process dies when, no
 * limit of /dev/shm applies, and no /proc is needed.
 */
#ifndef MPIACCEL_RENDEZVOUS_H
#define MPIACCEL_RENDEZVOUS_H

#include "core/stats.h"
#include "node/job.h"

/* Call before all other functions. False: this process has so few descriptors or so little memory
 * left that the host and the program may need all of them. Then everything is left to the host:
 * rendezvous_want() must not be called, and the process must not take a place, so the other ranks
 * defer everything, too. */
bool rendezvous_prepare(void);

/* Call before rendezvous_enter(), with the bytes of each slice for the symmetric heap (0: as much
 * as for the heap), and the file with this process's static variables (-1: none). The file stays
 * the caller's. */
void rendezvous_want(size_t symmetric, int statics_file);

/* Call before rendezvous_settle() if this rank must share nothing with others. All ranks of the
 * node then share nothing, for this reason. */
void rendezvous_refuse(enum reason why_not);

/* The settings that must be the same on all ranks. Ranks with different values would decide
 * differently which windows and collectives are fast (H13: decisions are equal on all ranks). */
uint64_t common_settings(void);

/* Send `sent` to rank `to` of MPI_COMM_WORLD, and receive such a number from rank `from`. False: no
 * number has come within a time that is much longer than ranks in rendezvous_settle() need. */
typedef bool rendezvous_exchange_fn(int to, int from, uint64_t sent, uint64_t *received);

/* Call rendezvous_enter() before the host is initialised, and rendezvous_settle() when all ranks of
 * the node that have the library have entered. After the second, `node` is open, or node.why_not
 * has the reason. `meeting`: a number for the communicator on which `exchange` sends, the same on
 * all ranks. */
void rendezvous_enter(const struct job *job);
void rendezvous_settle(int world_rank, int world_size, uint64_t meeting,
                       rendezvous_exchange_fn *exchange);

#endif
