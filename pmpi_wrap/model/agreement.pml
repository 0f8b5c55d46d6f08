/* Model of the agreement in node/verdict.h: leaders of nodes, any of which may lack the
 * library, and names that are published and looked up. A limited search may end at any time, as if
 * everything were late, so the model covers every delay, and names that are served late. A search
 * without a limit that never ends shows as an end that is not one. The service may refuse to publish
 * the verdict.
 *
 * Each BREAK_x leaves out something that the protocol needs; tests/docs/model checks that the model
 * then fails.
 */
#define OTHERS 2 /* leaders besides rank 0 */

mtype = { none, some, all };

bool has_library[OTHERS + 1];
bool begun, node[OTHERS + 1]; /* the names, and the verdict */
mtype verdict = none;

byte decided;          /* leaders with the library that have decided, */
bool says_all, says_some; /* and what */

inline decide(positive)
{
    atomic {
        decided++;
        if
        :: positive -> says_all = true
        :: else -> says_some = true
        fi;
        /* Nodes never disagree, and nothing spans nodes if one of them lacks the library. */
        assert(!(says_all && says_some));
        assert(!says_all || (has_library[0] && has_library[1] && has_library[2]))
    }
}

proctype first()
{
    byte i, heard = 0;
    begun = true;
    i = 1;
    do
    :: i <= OTHERS && node[i] -> heard++; i++
#ifndef BREAK_LIMIT
    :: i <= OTHERS -> break /* the time is over */
#endif
    :: i > OTHERS -> break
    od;
#ifdef BREAK_ALL
    heard = OTHERS;
#endif
    if
    :: verdict = (heard == OTHERS -> all : some); decide(heard == OTHERS)
    :: true -> /* refused */
#ifndef BREAK_REMOVE
        begun = false;
#endif
#ifdef BREAK_REFUSED
        decide(heard == OTHERS)
#else
        decide(false)
#endif
    fi
}

proctype other(byte me)
{
#ifdef BREAK_BEGUN
    node[me] = true;
#endif
    if
    :: begun
#ifndef BREAK_PATIENCE
    :: true -> decide(false); goto end /* the time is over */
#endif
    fi;
    node[me] = true;
    if
    :: verdict != none
    :: verdict == none && !begun /* in this order: rank 0 has removed it after the verdict */
#ifdef BREAK_VERDICT
    :: true -> decide(false); goto end
#endif
    fi;
    decide(verdict == all);
end: skip
}

init
{
    byte i = 0;
    do
    :: i <= OTHERS ->
        if
        :: has_library[i] = true
        :: has_library[i] = false
        fi;
        i++
    :: else -> break
    od;
    atomic {
        if
        :: has_library[0] -> run first()
        :: else
        fi;
        i = 1;
        do
        :: i <= OTHERS ->
            if
            :: has_library[i] -> run other(i)
            :: else
            fi;
            i++
        :: else -> break
        od
    }
}
