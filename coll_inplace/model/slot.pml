/* The protocol of team.h: posts, done and room, for ranks that make the same operations, any ones:
 * a broadcast from rank 0 or 1, with its data in the post or in a cell, a gather to rank 0, an
 * exchange of all with all, a broadcast of data that stay where they are. Memory is sequentially consistent here; what the real code must
 * order, ThreadSanitizer sees in tests/unit.
 *
 * No reader sees data of another operation, no writer writes over what somebody will still read,
 * nobody waits for ever, in LAST operations; with more than half of NUMBERS, posts of long ago would
 * look new. BREAK_x leaves out what the protocol needs: tests/docs/model sees that it is found.
 */
#ifndef RANKS
#define RANKS 3
#endif
#ifndef POSTS
#define POSTS 2 /* TEAM_SLOTS */
#endif
#define CELLS 2    /* TEAM_CELLS */
#define LAG 2      /* SLOT_LAG, and CELL_LAG */
#define NUMBERS 32 /* 2^32 */
#define FAR 4      /* TEAM_FAR */

#define MINUS(a, b)        (((a) + NUMBERS - (b)) % NUMBERS)
#define REACHED(a, b)      (MINUS(a, b) < NUMBERS / 2)
#define SLOT(rank, number) ((rank) * POSTS + (number) % POSTS)
#define CELL_OF(rank)      cell[(rank) * CELLS + op % CELLS]
#define AHEAD              (POSTS + 2) /* more than a rank may be before another */
#define NOTHING            255 /* half written, or spoilt */

mtype = { BCAST, CELL, GATHER, ALL, PLACE };

byte posted[RANKS * POSTS]; /* the numbers in posts */
byte data[RANKS * POSTS];   /* what is in them: right if it is the number of the operation */
byte cell[RANKS * CELLS];
byte place[RANKS];          /* data that stay */
byte done[RANKS];

/* What the program says, by number: decided when the first rank comes to it. */
mtype kinds[AHEAD];
bit roots[AHEAD];
byte decided;

inline next()
{
    op = (op + 1) % NUMBERS;
    if
    :: decided == MINUS(op, 1) ->
        decided = op;
        if
        :: kinds[op % AHEAD] = BCAST
#ifndef WITHOUT_CELLS
        :: kinds[op % AHEAD] = CELL
#endif
        :: kinds[op % AHEAD] = GATHER
        :: kinds[op % AHEAD] = ALL
        :: kinds[op % AHEAD] = PLACE
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

#define POSTING(rank) (kind == ALL || (kind == GATHER) != ((rank) == root))
#define READING       (kind != GATHER || me == root)

/* team_wait_all(); done only grows, so looking at one after another is the same. */
#define HAS_DONE(r, number) (r >= RANKS || me == r || REACHED(done[(r) % RANKS], number))
#define ALL_HAVE_DONE(number) (HAS_DONE(0, number) && HAS_DONE(1, number) && HAS_DONE(2, number))

#ifdef BREAK_CELL
#define ROOM POSTS
#else
#define ROOM (kind == CELL -> CELLS : POSTS)
#endif

inline await_room()
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

inline post()
{
    atomic {
        await_room();
#ifdef BREAK_POST
        posted[SLOT(me, op)] = op;
#endif
        data[SLOT(me, op)] = NOTHING;
        if
        :: kind == CELL -> CELL_OF(me) = NOTHING
        :: else
        fi;
        place[me] = (kind == PLACE -> op : NOTHING)
    }
    atomic {
        data[SLOT(me, op)] = op;
        if
        :: kind == CELL -> CELL_OF(me) = op
        :: else
        fi;
        posted[SLOT(me, op)] = op
    }
}

/* Reading takes a while: all is as it should be when it begins, and when it ends. */
inline look()
{
    assert((kind == PLACE -> place[peer] : data[SLOT(peer, op)]) == op);
    assert(kind != CELL || CELL_OF(peer) == op)
}

inline read()
{
    peer = 0;
    do
    :: atomic { peer < RANKS && peer != me && POSTING(peer) && REACHED(posted[SLOT(peer, op)], op) ->
           look() }
       atomic { look(); peer++ }
    :: atomic { peer < RANKS && (peer == me || !POSTING(peer)) -> peer++ }
    :: atomic { peer == RANKS -> peer = 0; break }
    od
}

inline keep_near()
{
#ifndef BREAK_NEAR
    if
    :: op / FAR != published / FAR ->
        if
        :: REACHED(all_done, MINUS(op, FAR))
        :: else -> all_done = MINUS(op, FAR)
        fi;
        for (peer : 0 .. POSTS - 1) {
            if
            :: REACHED(posted[me * POSTS + peer], MINUS(op, FAR))
            :: else -> posted[me * POSTS + peer] = MINUS(op, FAR)
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
    :: (kind == PLACE && me != root) || MINUS(op, published) >= LAG ->
        keep_near();
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
        :: POSTING(me) -> post()
        :: else
        fi;
        if
        :: READING -> read()
        :: else
        fi;
#ifndef BREAK_PLACE
        if
        :: kind == PLACE && me == root -> ALL_HAVE_DONE(op)
        :: else
        fi;
#endif
        atomic { end(); place[me] = NOTHING }
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
