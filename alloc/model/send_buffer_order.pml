/* Model of the count of bytes read (alloc/send_buffer.h) in weakly ordered memory: see core/model/weak.h. The
 * receiver copies the two words of a message, then adds their length to the count. The owner writes the next message
 * over them when all are counted. That the receiver begins after the first message is complete is ordered by the
 * host.
 *
 * Each BREAK_x leaves out an order; tests/docs/model checks that the model then fails.
 */
#include "../../core/model/weak.h"

#ifdef BREAK_COUNT
#define COUNT_ORDER 0
#else
#define COUNT_ORDER (READ_A | READ_B) /* the release of send_buffer_count() */
#endif
#ifdef BREAK_REUSE
#define REUSE_ORDER 0
#else
#define REUSE_ORDER SEEN /* the acquire of send_buffer_is_read() */
#endif

byte a = 1, b = 1, bytes_read;

#define READ_A     1
#define READ_B     2
#define COUNT_LOAD 4 /* nobody else changes the count meanwhile */
#define COUNT      8
active proctype receiver()
{
    int done;
    byte first, second, count;
    do
    :: atomic { READY(READ_A, 0) -> first = a; DONE(READ_A) }
    :: atomic { READY(READ_B, 0) -> second = b; DONE(READ_B) }
    :: atomic { READY(COUNT_LOAD, 0) -> count = bytes_read; DONE(COUNT_LOAD) }
    :: atomic { READY(COUNT, COUNT_LOAD | COUNT_ORDER) -> bytes_read = count + 2; DONE(COUNT) }
    :: FINISHED(READ_A | READ_B | COUNT_LOAD | COUNT) -> break
    od;
    assert(first == 1 && second == 1)
}

#define SEEN    1
#define WRITE_A 2
#define WRITE_B 4
active proctype owner()
{
    int done;
    do
    :: atomic { READY(SEEN, 0) && bytes_read == 2 -> DONE(SEEN) }
    :: atomic { READY(WRITE_A, REUSE_ORDER) -> a = 2; DONE(WRITE_A) }
    :: atomic { READY(WRITE_B, REUSE_ORDER) -> b = 2; DONE(WRITE_B) }
    :: FINISHED(SEEN | WRITE_A | WRITE_B) -> break
    od
}
