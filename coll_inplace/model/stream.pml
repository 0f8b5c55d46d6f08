/* Model of the protocol in stream.h. Rank 0 sends a stream to rank 1 and then one to rank 2; ranks 1
 * and 2 exchange streams in place: a piece is received only after the piece at the same position was
 * sent. Streams have 0 to MOST pieces. Sleeping is part of the model: a rank that cannot advance
 * sleeps on one word until it changes.
 *
 * The model checks that every piece arrives, complete and in order, that no cell is written while it
 * is read, and that no rank sleeps forever. Each BREAK_x leaves out something that the protocol
 * needs; tests/docs/model checks that the model then fails.
 */
#define CELLS   2 /* STREAM_CELLS */
#define MOST    3
#define NONE    4
#define NOTHING 255

#define PIECE(stream, number)  ((stream) * 16 + (number))
#define CELL_OF(rank, number)  cell[(rank) * CELLS + (number) % CELLS]

/* Streams 0: from 0 to 1; 1: from 0 to 2; 2: from 1 to 2; 3: from 2 to 1. Their lengths and starts are
 * published in slots. */
byte pieces[NONE + 1], start[NONE + 1];

byte produced[3], consumed[3]; /* by producer */
byte cell[3 * CELLS];          /* the piece in each cell */

inline produce(out)
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

/* Reading takes time: the piece must be there when it begins and when it ends. */
inline consume(in, from)
{
    if
    :: atomic { received < limit && seen_produced >= start[in] + received + 1 ->
           assert(CELL_OF(from, received) == PIECE(in, received)) }
#ifdef BREAK_CONSUMED
       consumed[from] = start[in] + received + 1;
#endif
       atomic {
           assert(CELL_OF(from, received) == PIECE(in, received));
           received++;
           consumed[from] = start[in] + received;
           moved = true
       }
    :: else
    fi
}

/* stream_run() */
inline run_streams(out, in, from, in_place)
{
    do
    :: atomic { sent == pieces[out] && received == pieces[in] -> break }
    :: atomic { else -> moved = false; seen_consumed = consumed[me] }
       seen_produced = produced[from];
       produce(out);
#ifdef BREAK_IN_PLACE
       limit = pieces[in];
#else
       limit = (!in_place || sent == pieces[out] || pieces[in] < sent -> pieces[in] : sent);
#endif
       consume(in, from);
       assert(!in_place || received <= sent);
       if
       :: moved
#ifdef BREAK_SLEEP
       :: !moved && received < pieces[in] -> produced[from] != seen_produced
       :: !moved && received == pieces[in] -> consumed[me] != seen_consumed
#else
       :: !moved && received < limit -> produced[from] != seen_produced
       :: !moved && received >= limit -> consumed[me] != seen_consumed
#endif
       fi
    od;
#ifndef BREAK_END
    (pieces[out] == 0 || consumed[me] >= start[out] + pieces[out]);
#endif
    atomic { sent = 0; received = 0; limit = 0; seen_consumed = 0; seen_produced = 0 }
}

proctype rank(byte me)
{
    byte sent, received, limit, seen_consumed, seen_produced;
    bit moved;
    if
    :: me == 0 ->
        run_streams(0, NONE, 0, false);
        run_streams(1, NONE, 0, false)
    :: me == 1 ->
        run_streams(NONE, 0, 0, false);
        run_streams(2, 3, 2, true)
    :: me == 2 ->
        run_streams(NONE, 1, 0, false);
        run_streams(3, 2, 1, true)
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
