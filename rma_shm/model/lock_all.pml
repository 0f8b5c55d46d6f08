/* Model of the protocol in rma_shm/sync_passive.h: locks of single targets, and lock_all. Lockers
 * lock any targets in rank order, exclusively or not, and release them in any order. Readers call
 * lock_all. A reader that finds an exclusive lock may withdraw at any time, because the limit in the
 * code is a duration, which the model does not represent.
 *
 * The model checks that no rank is in lock_all while another holds an exclusive lock, and that the
 * ranks do not deadlock. Each BREAK_x leaves out or delays something that the protocol needs;
 * tests/docs/model checks that the model then fails.
 *
 * Memory is sequentially consistent here, as are the accesses of the real code to these words. Claims,
 * which only delay a rank, are left out.
 */
#ifndef TARGETS
#define TARGETS 3
#endif
#ifndef LOCKERS
#define LOCKERS 2
#endif
#ifndef READERS
#define READERS 2
#endif
#define EXCLUSIVE 100 /* in a lock; otherwise the number of shared locks */

byte lock[TARGETS];
byte lock_all;
bool exclusive_used;

/* The number of ranks that are inside lock_all, and the number of exclusive locks that are held. */
byte readers;
byte writers;

active [READERS] proctype reader()
{
    byte t;
begin:
    lock_all++;
    if
#ifndef BREAK_READ
    :: exclusive_used
#endif
    :: else -> goto inside
    fi;
    t = 0;
    do
    :: t < TARGETS ->
        if
        :: lock[t] < EXCLUSIVE -> t++
#ifndef BREAK_WITHDRAW
        :: lock[t] >= EXCLUSIVE ->
            lock_all--;
            if
            :: lock[t] < EXCLUSIVE
            :: skip /* a claim has changed the word, or the time is over */
            fi;
            goto begin
#endif
        fi
    :: else -> break
    od;
inside:
    atomic { readers++; assert(writers == 0); t = 0 };
    readers--;
    lock_all--
}

inline lock_exclusively(t)
{
#ifndef BREAK_USED
    exclusive_used = true;
#endif
    do
    :: atomic { lock[t] == 0 -> lock[t] = EXCLUSIVE };
        if
        :: lock_all == 0 -> break
#ifdef BREAK_CHECK
        :: else -> break
#else
        :: else
#endif
        fi;
        lock[t] = 0;
        lock_all == 0
    od;
#ifdef BREAK_USED
    exclusive_used = true;
#endif
    atomic { writers++; assert(readers == 0) };
    mine[t] = EXCLUSIVE
}

inline release(t)
{
    if
    :: mine[t] == EXCLUSIVE -> atomic { writers--; lock[t] = 0 }
    :: mine[t] == 1 -> lock[t]--
    :: else
    fi;
    mine[t] = 0
}

active [LOCKERS] proctype locker()
{
    byte next = 0, t;
    byte mine[TARGETS];
    do
    :: next < TARGETS ->
        /* Lock one more target, or not. */
        if
        :: lock_exclusively(next)
        :: atomic { lock[next] < EXCLUSIVE -> lock[next]++ };
            mine[next] = 1
        :: skip
        fi;
        next++;
        /* Release any of the targets. */
        t = 0;
        do
        :: t < next ->
            if
            :: release(t)
            :: skip
            fi;
            t++
        :: else -> break
        od
    :: else -> break
    od;
    t = 0;
    do
    :: t < TARGETS -> release(t); t++
    :: else -> break
    od
}
