/* How the data of a collective travel. The sender decides, from the length of the data, from where
 * they are and from what the call permits, and publishes the decision in the kind of its slot. The
 * readers follow the slot, so ranks may decide differently. This module is the only one that
 * compares lengths with the thresholds below.
 *
 *   length                  location of the data        travel
 *   up to SLOT_ROOM (112)   any                         inline: SLOT_INLINE
 *   up to TEAM_CELL (16 K)  any; see "by reference"     through a cell: SLOT_BUFFERED
 *   longer                  shared heap                 by reference: SLOT_REFERENCE
 *   longer                  private, OS permitted       by reference, the reader calls the OS
 *   longer                  private, not permitted;     SLOT_PIPELINED: in pieces if all ranks know
 *                           static; not contiguous      the length, else through a stream
 *
 * The address decides the location: static variables are in the shared heap if MPIACCEL_STATICS
 * has moved them there, and otherwise private. The OS is permitted if all ranks of the team can
 * copy from each other (can_access_peers) and the copy policy prefers it (core/copy_policy.h). A
 * team of one rank moves nothing, and larger teams than TREE_FLAT send short data down a tree,
 * which does not change how the root sends them.
 *
 * With more ranks, system calls are less worthwhile: each rank reads a shorter part of private
 * data from more ranks, or more ranks read the same pages, which the OS lets them do only one
 * after the other. So the owner copies up to HOLD_MAX bytes into shared memory, which it holds
 * until all have read it, and sends that by reference: in teams of more than TREE_FLAT ranks,
 * operands and results whose segments are shorter than SEGMENT_MIN; in teams of more than two,
 * private blocks of an exchange of up to EAGER_MAX bytes each; and the data of a broadcast in a
 * team of more than READERS_MAX ranks (transport_holds_...()). The operand of a scan goes through
 * cells in a team of more than two ranks (remote_addr_to_scan()). These limits follow from the
 * number of system calls; they have not been measured on so many processors.
 *
 * By reference, so that the sender waits for its readers:
 *
 *   the call permits        shared heap                 private, OS permitted
 *   BY_REFERENCE_NEVER      no                          no
 *   BY_REFERENCE_LONG       above EAGER_MAX             above TEAM_CELL
 *   BY_REFERENCE_OPERANDS   from BY_REFERENCE_MIN       above TEAM_CELL
 *   BY_REFERENCE            from BY_REFERENCE_MIN       above ALLGATHER_COPY_MAX
 *   equal blocks            as above                    if the blocks do not fit into a cell
 *   different blocks        from BY_REFERENCE_MIN;      the same
 *                           BY_REFERENCE_LONG: if they
 *                           do not fit into a cell
 * Blocks are those that a rank has for several others; a block for one rank travels as other data.
 *
 * Data that are read by reference are copied by both sides from COOP_COPY_MIN_SHARED (shared heap)
 * or COOP_COPY_MIN_PRIVATE bytes on, in rooted calls (coop_copy.h). Non-temporal stores are used
 * for cells if the copy policy decides so, and for long results that the caches do not hold.
 *
 * To add a way (another node, memory of malloc() that peers can map): give it a slot kind, a row in
 * these tables and a case in transport_of().
 *
 * The thresholds were measured on 2 cores with 2 MiB of L2 cache each, with 2 ranks, next to Open
 * MPI 4.1 and MPICH 4.0; ns per call (`make bench` prints all of them).
 *
 *   allreduce from the heap    1 KiB: copied into cells 590, by reference 350
 *                              8 KiB:                  1700,              420
 *                              8 MiB: non-temporal stores 840000, ordinary stores  590000
 *                             32 MiB:                    3900000,                 5500000
 *   bcast from malloc        128 KiB: in pieces 8900, read through the OS 5350 (the system call
 *                                     takes 700)
 *   gather from malloc         1 MiB: copied by the root 174000, by both sides 86000
 *                            128 KiB:                      8600,               10300
 *   gather from the heap       1 MiB:                    153000,               72000
 *   allreduce from malloc    128 KiB: segmented 9300, each rank combines all 12500
 * On another day, when lines and system calls took nearly twice as long:
 *   allgather from malloc      8 KiB: copied into cells 2450, read through the OS 3450
 * On another machine (EPYC, Zen 4), between the groups of an intercommunicator:
 *   allgather from malloc     12 KiB: copied into cells 2200, read through the OS 4400
 *                             30 KiB: in pieces         5000,                     7900
 * With 4 ranks on 2 processors, µs:
 *   alltoall from malloc       4 KiB: copied into cells 23, read through the OS 50
 *                              8 KiB: copied and held   40,                    65
 */
#ifndef MPIACCEL_TRANSPORT_H
#define MPIACCEL_TRANSPORT_H

#include "coll_inplace/mailbox.h"
#include "coll_inplace/tree.h"
#include "core/copy_policy.h"
#include "core/typemap.h"
#include "node/node.h"

struct team;

enum {
    BY_REFERENCE_MIN = 1024,
    /* Hosts do not synchronise for data up to this length (H15). Blocks of a scatter that are this
     * short, but together exceed a cell, are copied into memory that the root holds. If they exceed
     * HOLD_MAX in total, or there is no memory, the root waits for its readers. */
    EAGER_MAX = 8192,
    HOLD_MAX = 1 << 20,
    SEGMENT_MIN = 8192, /* of a reduction: shorter segments are not worth a system call per rank */
    /* Of private data that each rank sends to all others. All ranks write their cells at the same
     * time, so that longer data are worth copying than if all readers wait for one rank. */
    ALLGATHER_COPY_MAX = 2 * TEAM_CELL,
    READERS_MAX = 16,   /* of private memory at a time: the OS locks its pages for each of them */
    COOP_COPY_MIN_SHARED = 64 << 10,
    COOP_COPY_MIN_PRIVATE = 1 << 20,
    NONTEMPORAL_RESULT_MIN = 4 << 20, /* of a reduction, of all ranks together */
    NONTEMPORAL_COPY_MIN = 1 << 20,   /* of a rank's own data */
};

/* Whether data may be sent by reference, in which case the sender waits for its readers. */
enum by_reference {
    BY_REFERENCE_NEVER,    /* no: the data will be overwritten before they are read */
    BY_REFERENCE_LONG,     /* only long data; short data must not make the sender wait, since hosts
                            * do not synchronise for them (H15) */
    BY_REFERENCE_OPERANDS, /* also short data in the heap; peers combine what they read */
    BY_REFERENCE,          /* also short data in the heap; peers copy what they read */
};

/* ---- addresses ---- */

/* The address of data that are read by reference: twice their position in the node's file; or, in
 * private memory, twice the address in the owner's process, plus 1. 0: no such address, because the
 * data are not contiguous or peers cannot access them. */
typedef uint64_t remote_addr_t;

/* The address of a buffer that peers should read, if the copy policy permits that. */
remote_addr_t remote_addr_to_read(const struct team *team, struct buffer b, size_t bytes);

/* The address of a buffer that peers can write to. Does not depend on the copy policy. */
remote_addr_t remote_addr_to_write(const struct team *team, struct buffer b, size_t bytes);

/* The address of memory in the node's file. */
static inline remote_addr_t remote_addr_of(const char *shared)
{
    return (remote_addr_t)(shared - node.base) << 1;
}

/* The address in this process; NULL: it is in its owner's private memory. */
static inline char *remote_addr_local(remote_addr_t address)
{
    return address & 1 ? NULL : node.base + (address >> 1);
}

/* Copy from or to private memory of `owner`, at `first` bytes from `address`; through the owner if
 * the OS refuses. The owner stays in the collective call until this rank publishes that it is done.
 * False: the owner has died. */
bool remote_read(const struct team *team, uint32_t owner, remote_addr_t address, size_t first,
                 void *to, size_t bytes);
bool remote_write(const struct team *team, uint32_t owner, remote_addr_t address, size_t first,
                  const void *from, size_t bytes);

/* ---- decisions ---- */

/* Whether data fit into a slot, or into a cell. All ranks agree on it if they agree on the length.
 */
static inline bool fits_into_slot(size_t bytes)
{
    return bytes <= SLOT_ROOM;
}

static inline bool fits_into_cell(size_t bytes)
{
    return bytes <= TEAM_CELL;
}

/* How data that are not read by reference travel. */
static inline enum slot_kind transport_of_copy(size_t bytes)
{
    return fits_into_slot(bytes)   ? SLOT_INLINE
           : fits_into_cell(bytes) ? SLOT_BUFFERED
                                   : SLOT_PIPELINED;
}

/* How `bytes` bytes of data travel to all ranks that read our slot. `*address` is set for
 * SLOT_REFERENCE. */
enum slot_kind transport_of(const struct team *team, struct buffer from, size_t bytes,
                            enum by_reference by_reference, remote_addr_t *address);

/* How blocks of different length travel, `bytes` bytes in total for the other ranks. If they are
 * not inline, a table of `table` bytes precedes them in the cell. */
struct blocks;
enum slot_kind transport_of_blocks(const struct team *team, const struct blocks *all, size_t bytes,
                                   size_t table, enum by_reference by_reference);

/* Whether a rank copies the blocks of a scatter, or its private blocks of an exchange, into memory
 * that it holds for them: they do not fit into a cell together, with a table of `table` bytes, but
 * each is short. The root of a scatter must not wait for its readers then, and in an exchange a
 * system call per block is not worthwhile. `held`: the bytes that it would copy. */
static inline bool transport_holds_blocks(size_t longest, size_t bytes, size_t table, size_t held)
{
    return !fits_into_cell(bytes + table) && longest <= EAGER_MAX && held <= HOLD_MAX;
}

/* Whether the root of a broadcast copies private data into memory that it holds. */
static inline bool transport_holds_data(uint32_t ranks, remote_addr_t address, size_t bytes)
{
    return ranks > READERS_MAX && address & 1 && bytes <= HOLD_MAX;
}

/* Whether a rank copies its operand of a segmented reduction, and its result, through memory that
 * it holds, unless both are in the shared heap. */
static inline bool transport_holds_vector(uint32_t ranks, size_t bytes)
{
    return ranks > TREE_FLAT && bytes <= HOLD_MAX && bytes < (size_t)ranks * SEGMENT_MIN;
}

/* Whether a reduction that a larger team than TREE_FLAT could send up a tree is segmented instead.
 * On the tree, whole operands are combined one after the other. */
static inline bool transport_segments(uint32_t ranks, size_t bytes)
{
    return bytes > EAGER_MAX && bytes >= (size_t)ranks * LINE / 4;
}

/* remote_addr_to_read() for the operand of a scan, which every higher rank reads completely. In a
 * team of more than two ranks the OS would copy a private operand once per reader, so it is copied
 * into cells there, and its address is 0. */
remote_addr_t remote_addr_to_scan(const struct team *team, struct buffer from, size_t bytes);

/* Whether data at `from` are copied cooperatively. Both sides call it with the values in the
 * sender's slot. */
static inline bool transport_is_cooperative(remote_addr_t from, size_t bytes)
{
    return bytes >= (remote_addr_local(from) ? COOP_COPY_MIN_SHARED : COOP_COPY_MIN_PRIVATE);
}

/* Whether results of all ranks together, or our own data, are written with non-temporal stores:
 * only if the caches do not hold all `moved` bytes that the ranks move in this call. */
static inline bool transport_streams_results(size_t bytes, size_t moved)
{
    return bytes >= NONTEMPORAL_RESULT_MIN && !copy_caches_hold(moved);
}

static inline bool transport_streams_copy(size_t bytes, size_t moved)
{
    return bytes >= NONTEMPORAL_COPY_MIN && !copy_caches_hold(moved);
}

/* Whether a cell is written with non-temporal stores, which leave its lines in no cache. The reader
 * then waits for memory once, some 300 ns, which is not worthwhile for a few lines. */
static inline bool transport_streams_cell(uint32_t policy, size_t bytes)
{
    return !fits_into_part(bytes) && (policy & COPY_POLICY_NONTEMPORAL);
}

#endif
