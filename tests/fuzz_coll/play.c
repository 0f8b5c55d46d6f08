/* Executes a program and checks the results. */
#include "program.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { ARENA = 1 << 18, GUARD = 64, WARM_UP = 4 };

/* Memory of the whole program. The buffers of a round are parts of it, or are allocated separately.
 */
struct arena {
    char *memory;
    long used;
};

/* A rank that executes a program. */
struct player {
    struct program program;
    const struct options *options;
    MPI_Comm comms[TEAMS];  /* MPI_COMM_NULL: not a member */
    struct arena arenas[2]; /* malloc, MPI_Alloc_mem */
    struct rng rng;         /* of decisions of this rank alone */
};

/* The actions of a step, and communication in progress until the end of the round. */
struct deed {
    const struct step *step;
    MPI_Comm comm; /* MPI_COMM_NULL: no action */
    int rank, size;
    struct call call;
    struct args send, receive;
    int late; /* microseconds; -1: yields the processor once */
    MPI_Request requests[2];
    int numbers[2][64], count;
};

/* ---- memory ---- */

static char *obtain(long bytes, bool from_mpi)
{
    char *memory = NULL;
    if (from_mpi)
        DO(Alloc_mem, bytes, MPI_INFO_NULL, &memory);
    else
        memory = malloc((size_t)bytes);
    if (!memory)
        give_up("no memory for %ld bytes", bytes);
    return memory;
}

static void give_back(char *memory, bool from_mpi)
{
    if (from_mpi)
        DO(Free_mem, memory);
    else
        free(memory);
}

static void scribble(struct rng *r, char *at, long n)
{
    struct rng quick = {rng_next(r)};
    for (; n > 0; n -= 8, at += 8) {
        uint64_t bits = rng_next(&quick);
        memcpy(at, &bits, n < 8 ? (size_t)n : 8);
    }
}

static void give_memory(struct player *pl, struct side *side)
{
    struct rng *r = &pl->rng;
    long data = side->high - side->low, space = data + 2 * GUARD + 2 * 64;
    if (side->shape == NOTHING || (!data && chance(r, 30)))
        return; /* NULL is passed to MPI */
    side->from_mpi = chance(r, pl->program.profile.from_mpi);
    struct arena *arena = &pl->arenas[side->from_mpi];
    side->own = chance(r, 20) || arena->used + space > ARENA;
    side->bytes = space;
    side->memory = side->own ? obtain(space, side->from_mpi) : arena->memory + arena->used;
    arena->used += side->own ? 0 : space;
    long shift = chance(r, 50) ? 0 : below(r, 64);
    char *low = side->memory + GUARD + shift;
    intptr_t misplaced = (intptr_t)(low - side->low) % side->align;
    side->at = low - side->low + (misplaced ? side->align - misplaced : 0);
    side->image = malloc((size_t)space);
    scribble(r, side->memory, space);
    memcpy(side->image, side->memory, (size_t)space);
}

static void take_memory(struct side *side)
{
    free(side->image);
    if (side->memory && side->own)
        give_back(side->memory, side->from_mpi);
}

/* ---- communicators ---- */

/* The world rank of a group's first rank. */
static int leader_of(const struct team *t, int color)
{
    int leader = -1;
    for (int i = 0; i < world_size; i++)
        if (t->color[i] == color && (leader < 0 || t->key[i] < t->key[leader]))
            leader = i;
    return leader;
}

static void make_groups(const struct team *t, MPI_Comm *comm)
{
    MPI_Comm group;
    int color = t->color[world_rank];
    DO(Comm_split, MPI_COMM_WORLD, color, t->key[world_rank], &group);
    int other = leader_of(t, color ^ 1);
    *comm = MPI_COMM_NULL;
    if (other >= 0)
        DO(Intercomm_create, group, 0, MPI_COMM_WORLD, other, color / 2, comm);
    DO(Comm_free, &group);
}

static void make_comm(struct player *pl, int i, const struct team *t)
{
    MPI_Comm *comm = &pl->comms[i];
    int color = t->color[world_rank];
    pl->program.team[i] = *t;
    if (t->inter)
        make_groups(t, comm);
    else if (t->world)
        *comm = MPI_COMM_WORLD;
    else if (t->duplicate)
        DO(Comm_dup, MPI_COMM_WORLD, comm);
    else
        DO(Comm_split, MPI_COMM_WORLD, color < 0 ? MPI_UNDEFINED : color, t->key[world_rank], comm);
    if (*comm == MPI_COMM_NULL)
        return;
    DO(Comm_set_errhandler, *comm, MPI_ERRORS_RETURN);
    for (int n = 0; pl->program.profile.warm && n < WARM_UP; n++)
        DO(Barrier, *comm);
}

static void free_comm(struct player *pl, int i)
{
    if (pl->comms[i] != MPI_COMM_NULL && !pl->program.team[i].world)
        DO(Comm_free, &pl->comms[i]);
}

/* ---- steps ---- */

/* Ranks are numbered through both groups. Not all collectives exist on intercommunicators. */
static void between_groups(struct call *c, MPI_Comm comm, bool second)
{
    c->inter = true;
    MPI_Comm_remote_size(comm, &c->size);
    c->own_first = second ? c->size : 0;
    c->first = second ? 0 : c->own;
    c->rank += c->own_first;
    if (forms[c->collective].meeting > FROM_ALL)
        c->collective = BARRIER;
}

static void prepare(struct player *pl, struct deed *d, const struct step *step)
{
    const struct program *p = &pl->program;
    *d = (struct deed){.step = step, .comm = pl->comms[step->team]};
    if (pl->options->only && !listed(pl->options->only, step->id))
        d->comm = MPI_COMM_NULL;
    if (p->team[step->team].inter && step->act != COLLECT)
        d->comm = MPI_COMM_NULL;
    if (d->comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(d->comm, &d->rank);
    MPI_Comm_size(d->comm, &d->size);
    if (chance(&pl->rng, p->profile.dawdle))
        d->late = (int)between(&pl->rng, -1, chance(&pl->rng, 10) ? 2000 : 50);
    if (step->act != COLLECT)
        return;
    struct call *c = &d->call;
    const struct team *team = &p->team[step->team];
    int color = team->color[world_rank];
    c->id = step->id;
    c->seed = mix(p->seed * 1000 + (uint64_t)(step->id * 20 + (team->inter ? color / 2 : color)));
    c->collective = step->collective;
    c->own = c->size = d->size;
    c->rank = d->rank;
    if (team->inter)
        between_groups(c, d->comm, color % 2);
    call_invent(c, &p->profile);
    give_memory(pl, &c->send);
    give_memory(pl, &c->receive);
    model_input(c);
    if (c->send.memory)
        memcpy(c->send.memory, c->send.image, (size_t)c->send.bytes);
    if (c->receive.memory)
        memcpy(c->receive.memory, c->receive.image, (size_t)c->receive.bytes);
    args_open(c, &d->send, &d->receive, NULL);
}

static void dawdle(int late)
{
    struct timespec from, now;
    if (late < 0)
        sched_yield();
    if (late > 50)
        usleep((unsigned)late);
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while (late <= 50 &&
           (now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < late);
}

/* A message to the next rank, from the previous one. */
static void start_message(struct deed *d)
{
    int next = (d->rank + 1) % d->size, before = (d->rank + d->size - 1) % d->size;
    int id = d->step->id;
    d->count = 1 + id % 64;
    for (int i = 0; i < d->count; i++)
        d->numbers[0][i] = id * 1000 + d->rank + i;
    DO(Irecv, d->numbers[1], d->count, MPI_INT, id % 3 ? before : MPI_ANY_SOURCE, id, d->comm,
       &d->requests[0]);
    DO(Isend, d->numbers[0], d->count, MPI_INT, next, id, d->comm, &d->requests[1]);
}

static void start_background(struct deed *d)
{
    int id = d->step->id;
    d->count = 1;
    d->numbers[0][0] = d->rank + id;
    d->requests[1] = MPI_REQUEST_NULL;
    if (id % 3 == 0)
        DO(Ibarrier, d->comm, &d->requests[0]);
    else if (id % 3 == 1)
        DO(Iallreduce, d->numbers[0], d->numbers[1], 1, MPI_INT, MPI_SUM, d->comm, &d->requests[0]);
    else
        DO(Iallgather, d->numbers[0], 1, MPI_INT, d->numbers[1], 1, MPI_INT, d->comm,
           &d->requests[0]);
}

static void act(struct player *pl, struct deed *d)
{
    if (d->comm == MPI_COMM_NULL)
        return;
    progress->op = d->step->id;
    if (pl->options->print) {
        char text[4000] = "a message or a nonblocking collective";
        if (d->step->act == COLLECT)
            call_print(&d->call, text, sizeof text);
        printf("  rank %d: %d: comm %d %s\n", world_rank, d->step->id, d->step->team, text);
        fflush(stdout);
    }
    if (d->late)
        dawdle(d->late);
    if (d->step->act == COLLECT)
        execute(&d->call, &d->send, &d->receive, d->comm);
    else if (d->step->act == MESSAGE)
        start_message(d);
    else
        start_background(d);
}

static void finish_beside(struct deed *d)
{
    MPI_Status statuses[2]; /* GCC mistakes MPICH's MPI_STATUSES_IGNORE for an array */
    int id = d->step->id, before = (d->rank + d->size - 1) % d->size, n = d->size;
    DO(Waitall, 2, d->requests, statuses);
    for (int i = 0; d->step->act == MESSAGE && i < d->count; i++)
        if (d->numbers[1][i] != id * 1000 + before + i) {
            fail("call %d: a message between others is wrong", id);
            return;
        }
    if (d->step->act == BACKGROUND && id % 3 == 1 && d->numbers[1][0] != n * id + n * (n - 1) / 2)
        fail("call %d: MPI_Iallreduce between others is wrong", id);
    for (int i = 0; d->step->act == BACKGROUND && id % 3 == 2 && i < n; i++)
        if (d->numbers[1][i] != i + id)
            fail("call %d: MPI_Iallgather between others is wrong", id);
}

static void conclude(struct deed *d)
{
    struct call *c = &d->call;
    if (d->comm == MPI_COMM_NULL)
        return;
    progress->op = d->step->id;
    if (d->step->act != COLLECT) {
        finish_beside(d);
        return;
    }
    model_result(c);
    judge(c, &c->send, "send");
    judge(c, &c->receive, "receive");
    args_close(c, &d->send, &d->receive);
    take_memory(&c->send);
    take_memory(&c->receive);
}

/* ---- all ---- */

static void play_round(struct player *pl, const struct round *round)
{
    static struct deed deeds[STEPS_MAX]; /* large */
    if (round->renewed >= 0) {
        free_comm(pl, round->renewed);
        make_comm(pl, round->renewed, &round->team);
    }
    if (round->new_ops) {
        user_ops_close();
        user_ops_open();
    }
    pl->arenas[0].used = pl->arenas[1].used = 0;
    for (int i = 0; i < round->steps; i++)
        prepare(pl, &deeds[i], &round->step[i]);
    for (int i = 0; i < round->steps; i++)
        act(pl, &deeds[i]);
    for (int i = 0; i < round->steps; i++)
        conclude(&deeds[i]);
    release();
}

void play(uint64_t seed, const struct options *options)
{
    static struct player player; /* large */
    struct player *pl = &player;
    *pl = (struct player){.options = options, .rng = rng_for(seed, (uint64_t)(100 + world_rank))};
    program_invent(&pl->program, seed, world_size, options);
    for (int i = 0; i < 2; i++)
        pl->arenas[i].memory = obtain(ARENA, i);
    /* The library may treat communicators differently whose parent has been used. */
    for (int n = 0; seed % 2 && n < WARM_UP; n++)
        DO(Barrier, MPI_COMM_WORLD);
    for (int i = 0; i < TEAMS; i++)
        make_comm(pl, i, &pl->program.team[i]);
    int steps = 0;
    for (int i = 0; i < pl->program.rounds; i++) {
        progress->round = i;
        play_round(pl, &pl->program.round[i]);
        steps += pl->program.round[i].steps;
    }
    for (int i = 0; i < TEAMS; i++)
        free_comm(pl, i);
    for (int i = 0; i < 2; i++)
        give_back(pl->arenas[i].memory, i);
    if (options->print && world_rank == 0)
        printf("%d operations\n", steps);
}
