/* Weakly ordered memory for the models *_order.pml, as ARMv8 has it: all threads see one memory,
 * but each thread accesses it in any order that its program does not forbid.
 *
 * A thread is a set of steps. A step is one access to memory; its guard names the earlier steps
 * that must precede it, because of an acquire, a release, a fence, or because it uses what they
 * have loaded. Spin searches every order that the guards permit. Early loads, late stores and
 * speculation past a branch are such orders. What a processor with total store order (x86) permits
 * is a subset.
 *
 *     active proctype writer()
 *     {
 *         int done;
 *         do
 *         :: READY(DATA, 0) -> data = 1; DONE(DATA)
 *         :: READY(FLAG, ORDER(PUBLISH, DATA)) -> flag = 1; DONE(FLAG)
 *         :: FINISHED(DATA | FLAG) -> break
 *         od
 *     }
 *
 * In the models every alternative is enclosed in `atomic { }`, which the example omits. An atomic
 * read-modify-write is two steps, its load and its store: its acquire orders only the load, and its
 * release only the store, so accesses around it can change places. Where another thread writes the
 * same word, it is reserved from the first step to the second.
 */
#define READY(step, after) (!(done & (step)) && (done & (after)) == (after))
#define DONE(step)         done = done | (step)
#define FINISHED(steps)    (done == (steps))
