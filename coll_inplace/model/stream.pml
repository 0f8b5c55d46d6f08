/* The protocol of stream.h. Rank 0 sends a stream to rank 1, then one to rank 2; 1 and 2 exchange,
 * in place: a piece comes in only where one has gone out. Streams have 0 to MOST pieces. Sleeping
 * is here too: who finds nothing to do sleeps on one word until that changes.
 *
 * Every piece arrives, in order and whole; no cell is written while somebody reads it; nobody
 * sleeps for ever. BREAK_x leaves out what the protocol needs: tests/docs/model sees that it is
 * found.
 */
#define CELLS   2 /* STREAM_CELLS */
#define MOST    3
#define NONE    4
#define NOTHING 255

#define PIECE(stream, number)  ((stream) * 16 + (number))
#define CELL_OF(rank, number)  cell[(rank) * CELLS + (number) % CELLS]

/* 0: from 0 to 1; 1: from 0 to 2; 2: from 1 to 2; 3: from 2 to 1. Said in posts. */
byte pieces[NONE + 1], start[NONE + 1];

byte produced[3], consumed[3]; /* by producer */
byte cell[3 * CELLS];          /* which piece is in it */

inline give(out)
{
    if
#ifdef BREAK_ROOM
    :: sent < pieces[out] ->
#else
    :: sent < pieces[out] && seen_consumed + CELLS >= start[out] + sent + 1 ->
#endif
#ifdef BREAK_PRODUCED
        produced[me] = start[out] + sent + 1;
#endif
        CELL_OF(me, sent) = NOTHING;
        atomic {
            CELL_OF(me, sent) = PIECE(out, sent);
            sent++;
            produced[me] = start[out] + sent;
            moved = true
        }
    :: else
    fi
}

/* Reading takes a while: the piece is there when it begins, and when it ends. */
inline take(in, from)
{
    if
    :: atomic { got < limit && seen_produced >= start[in] + got + 1 ->
           assert(CELL_OF(from, got) == PIECE(in, got)) }
#ifdef BREAK_CONSUMED
       consumed[from] = start[in] + got + 1;
#endif
       atomic {
           assert(CELL_OF(from, got) == PIECE(in, got));
           got++;
           consumed[from] = start[in] + got;
           moved = true
       }
    :: else
    fi
}

/* stream_run() */
inline move(out, in, from, in_place)
{
    do
    :: atomic { sent == pieces[out] && got == pieces[in] -> break }
    :: atomic { else -> moved = false; seen_consumed = consumed[me] }
       seen_produced = produced[from];
       give(out);
#ifdef BREAK_IN_PLACE
       limit = pieces[in];
#else
       limit = (!in_place || sent == pieces[out] || pieces[in] < sent -> pieces[in] : sent);
#endif
       take(in, from);
       assert(!in_place || got <= sent);
       if
       :: moved
#ifdef BREAK_SLEEP
       :: !moved && got < pieces[in] -> produced[from] != seen_produced
       :: !moved && got == pieces[in] -> consumed[me] != seen_consumed
#else
       :: !moved && got < limit -> produced[from] != seen_produced
       :: !moved && got >= limit -> consumed[me] != seen_consumed
#endif
       fi
    od;
#ifndef BREAK_END
    (pieces[out] == 0 || consumed[me] >= start[out] + pieces[out]);
#endif
    atomic { sent = 0; got = 0; limit = 0; seen_consumed = 0; seen_produced = 0 }
}

proctype rank(byte me)
{
    byte sent, got, limit, seen_consumed, seen_produced;
    bit moved;
    if
    :: me == 0 ->
        move(0, NONE, 0, false);
        move(1, NONE, 0, false)
    :: me == 1 ->
        move(NONE, 0, 0, false);
        move(2, 3, 2, true)
    :: me == 2 ->
        move(NONE, 1, 0, false);
        move(3, 2, 1, true)
    fi
}

init
{
    byte number;
    select (number : 0 .. MOST); pieces[0] = number;
    pieces[1] = MOST;
    select (number : 0 .. MOST); pieces[2] = number; pieces[3] = number;
    atomic {
        start[1] = pieces[0];
        number = 0;
        run rank(0);
        run rank(1);
        run rank(2)
    }
}
