/* Model of the protocol in team.h: slots, `done`, and the room for the next slot. All ranks perform
 * the same operations, of any kind: a broadcast from rank 0 or 1, with its data in the slot or in a
 * cell; a gather to rank 0; an exchange between all ranks; a broadcast by reference.
 *
 * The model checks that no reader finds data of another operation, that no writer overwrites data
 * that a rank will still read, and that no rank waits forever, in LAST operations. If LAST is more
 * than half of NUMBERS, numbers wrap, and a slot of long ago could look new. Each BREAK_x leaves
 * out something that the protocol needs; tests/docs/model checks that the model then fails.
 *
 * Memory is sequentially consistent here. What the real code must order is checked by
 * ThreadSanitizer in tests/unit.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef SLOTS
#define SLOTS 2 /* TEAM_SLOTS */
#endif
#define CELLS 2    /* TEAM_CELLS */
#define LAG 2      /* SLOT_LAG and CELL_LAG */
#define NUMBERS 32 /* 2^32 */
#define FAR 4      /* TEAM_FAR */

#define MINUS(a, b)        (((a) + NUMBERS - (b)) % NUMBERS)
#define REACHED(a, b)      (MINUS(a, b) < NUMBERS / 2)
#define SLOT(rank, number) ((rank) * SLOTS + (number) % SLOTS)
#define CELL_OF(rank)      cell[(rank) * CELLS + op % CELLS]
#define AHEAD              (SLOTS + 2) /* more than the distance between any two ranks */
#define NOTHING            255 /* half written, or overwritten */

mtype = { BCAST, CELL, GATHER, ALL, REFERENCE };

byte published_op[RANKS * SLOTS]; /* the numbers in the slots */
byte data[RANKS * SLOTS];   /* their data; correct if equal to the number of the operation */
byte cell[RANKS * CELLS];
byte buffer[RANKS];         /* data that are read by reference */
byte done[RANKS];

/* The program: the kind and root of each operation, chosen when the first rank begins it. */
mtype kinds[AHEAD];
bit roots[AHEAD];
byte chosen;

inline next()
{
    op = (op + 1) % NUMBERS;
    if
    :: chosen == MINUS(op, 1) ->
        chosen = op;
        if
        :: kinds[op % AHEAD] = BCAST
#ifndef WITHOUT_CELLS
        :: kinds[op % AHEAD] = CELL
#endif
        :: kinds[op % AHEAD] = GATHER
        :: kinds[op % AHEAD] = ALL
        :: kinds[op % AHEAD] = REFERENCE
        fi;
        if
        :: roots[op % AHEAD] = 0
        :: kinds[op % AHEAD] == BCAST -> roots[op % AHEAD] = 1
        fi;
        kinds[(op + 1) % AHEAD] = 0;
        roots[(op + 1) % AHEAD] = 0
    :: else
    fi;
    kind = kinds[op % AHEAD];
    root = roots[op % AHEAD]
}

#define SENDS(rank) (kind == ALL || (kind == GATHER) != ((rank) == root))
#define READS       (kind != GATHER || me == root)

/* team_wait_all(). `done` only grows, so checking one rank after another is equivalent. */
#define HAS_DONE(r, number) (r >= RANKS || me == r || REACHED(done[(r) % RANKS], number))
#define ALL_HAVE_DONE(number) (HAS_DONE(0, number) && HAS_DONE(1, number) && HAS_DONE(2, number))

#ifdef BREAK_CELL
#define ROOM SLOTS
#else
#define ROOM (kind == CELL -> CELLS : SLOTS)
#endif

inline wait_room()
{
#ifndef BREAK_ROOM
    if
    :: REACHED(all_done, MINUS(op, ROOM))
    :: else -> ALL_HAVE_DONE(MINUS(op, ROOM)); all_done = MINUS(op, ROOM)
    fi
#else
    skip
#endif
}

inline send()
{
    atomic {
        wait_room();
#ifdef BREAK_PUBLISH
        published_op[SLOT(me, op)] = op;
#endif
        data[SLOT(me, op)] = NOTHING;
        if
        :: kind == CELL -> CELL_OF(me) = NOTHING
        :: else
        fi;
        buffer[me] = (kind == REFERENCE -> op : NOTHING)
    }
    atomic {
        data[SLOT(me, op)] = op;
        if
        :: kind == CELL -> CELL_OF(me) = op
        :: else
        fi;
        published_op[SLOT(me, op)] = op
    }
}

/* Reading takes time: the data must be correct when it begins and when it ends. */
inline check()
{
    assert((kind == REFERENCE -> buffer[peer] : data[SLOT(peer, op)]) == op);
    assert(kind != CELL || CELL_OF(peer) == op)
}

inline read()
{
    peer = 0;
    do
    :: atomic { peer < RANKS && peer != me && SENDS(peer) &&
                REACHED(published_op[SLOT(peer, op)], op) -> check() }
       atomic { check(); peer++ }
    :: atomic { peer < RANKS && (peer == me || !SENDS(peer)) -> peer++ }
    :: atomic { peer == RANKS -> peer = 0; break }
    od
}

/* team_keep_counters_close() */
inline keep_close()
{
#ifndef BREAK_CLOSE
    if
    :: op / FAR != published / FAR ->
        if
        :: REACHED(all_done, MINUS(op, FAR))
        :: else -> all_done = MINUS(op, FAR)
        fi;
        for (peer : 0 .. SLOTS - 1) {
            if
            :: REACHED(published_op[me * SLOTS + peer], MINUS(op, FAR))
            :: else -> published_op[me * SLOTS + peer] = MINUS(op, FAR)
            fi
        }
        peer = 0
    :: else
    fi
#else
    skip
#endif
}

inline end()
{
    if
#ifdef BREAK_ALL
    :: kind == ALL -> all_done = op
#else
    :: kind == ALL -> all_done = MINUS(op, 1)
#endif
    :: else
    fi;
    if
    :: (kind == REFERENCE && me != root) || MINUS(op, published) >= LAG ->
        keep_close();
        published = op;
        done[me] = op
    :: else
    fi
}

proctype rank(byte me)
{
    byte op, published, all_done, peer;
    bit root;
    mtype kind;
    do
    :: op == LAST -> break
    :: op != LAST ->
        atomic {
            next();
#ifdef BREAK_DONE
            done[me] = op
#endif
        }
        if
        :: SENDS(me) -> send()
        :: else
        fi;
        if
        :: READS -> read()
        :: else
        fi;
#ifndef BREAK_REFERENCE
        if
        :: kind == REFERENCE && me == root -> ALL_HAVE_DONE(op)
        :: else
        fi;
#endif
        atomic { end(); buffer[me] = NOTHING }
    od
}

init
{
    atomic {
        byte i;
        for (i : 0 .. RANKS - 1) {
            run rank(i)
        }
    }
}
