/* Random rounds of every collective, in an intracommunicator or between two groups, checked against
 * the definition of each collective: any sizes, layouts and addresses, in place and not, ranks in
 * disorder, buffers overwritten as soon as a rank returns.
 *
 * The ranks of both groups are numbered together: group 1 follows group 0. */
#ifndef UNIT_PLAYS_H
#define UNIT_PLAYS_H

#include "tests/unit/endless.h"
#include "tests/unit/operands.h"
#include "tests/unit/refused.h"

/* A rank that sleeps is not woken when the rank that it waits for continues in another ring. So no
 * rank loses its patience while sleeps have no time limit. */
#define sync_now_ns() (endless ? 0 : sync_now_ns())
#include "coll_inplace/team.c"
#undef sync_now_ns

/* ---- the ranks whose data a rank receives ---- */

static inline unsigned first_peer(unsigned me)
{
    return is_inter() ? first_of(!group_of(me)) : 0;
}

static inline unsigned peer_count(unsigned me)
{
    return is_inter() ? group_size[!group_of(me)] : group_size[0];
}

/* Whether this rank takes part in a rooted collective, and how it names the root. */
static inline bool takes_part(struct play *p, unsigned root, uint32_t *name)
{
    *name = !is_inter() ? root : p->me == root ? INTER_ROOT : root - first_of(group_of(root));
    if (!is_inter() || p->me == root || group_of(root) != group_of(p->me))
        return true;
    coll_pass(p->t);
    return false;
}

/* ---- moving data ---- */

static _Atomic unsigned arrived[UNIT_RANKS_MAX];

static inline void reset_arrived(void)
{
    for (unsigned r = 0; r < UNIT_RANKS_MAX; r++)
        arrived[r] = 0;
}

static inline void play_barrier(struct play *p)
{
    unsigned first = first_peer(p->me), turn = ++arrived[p->me];
    if (is_inter())
        coll_barrier(p->t);
    else
        coll_barrier(p->t);
    for (unsigned r = 0; r < peer_count(p->me); r++)
        EXPECT(arrived[first + r] >= turn);
}

static inline void play_bcast(struct play *p)
{
    unsigned root = below(&p->all, p->n);
    size_t size = any_size(&p->all, budget(p) * 4);
    uint32_t name;
    if (!takes_part(p, root, &name))
        return;
    struct side *s = new_side();
    lay_out_one(s, p, size);
    (p->me == root ? put_data : expect)(s, 0, datum(p, root, 0, size));
    EXPECT(coll_bcast(p->t, whole(s), name) == COLL_OK);
    finish(p, s, "bcast");
}

static inline void play_gather(struct play *p)
{
    unsigned root = below(&p->all, p->n), first = first_peer(p->me), n = peer_count(p->me);
    size_t size[UNIT_RANKS_MAX];
    uint32_t name;
    any_sizes(p, size);
    if (!takes_part(p, root, &name))
        return;
    bool is_root = p->me == root, in_place = is_root && !is_inter() && below(&p->own, 2);
    struct side *mine = new_side(), *all = new_side();
    lay_out_one(mine, p, size[p->me]);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, n, size + first, false);
    for (unsigned r = 0; is_root && r < n; r++)
        (in_place && r == root ? put_data : expect)(all, r,
                                                    datum(p, first + r, 0, size[first + r]));
    EXPECT(coll_gather(p->t, whole(mine), is_root ? &all->blocks : NULL, name, in_place) ==
           COLL_OK);
    finish(p, mine, "gather, sent");
    finish(p, all, "gather");
}

static inline void play_scatter(struct play *p)
{
    unsigned root = below(&p->all, p->n), first = first_peer(p->me), n = peer_count(p->me);
    size_t size[UNIT_RANKS_MAX];
    uint32_t name;
    any_sizes(p, size);
    if (!takes_part(p, root, &name))
        return;
    bool is_root = p->me == root, in_place = is_root && !is_inter() && below(&p->own, 2);
    bool receives = is_inter() ? !is_root : !in_place;
    struct side *mine = new_side(), *all = new_side();
    lay_out_one(mine, p, size[p->me]);
    lay_out(all, p, n, size + first, false);
    if (receives)
        expect(mine, 0, datum(p, root, p->me, size[p->me]));
    for (unsigned r = 0; is_root && r < n; r++)
        put_data(all, r, datum(p, root, first + r, size[first + r]));
    EXPECT(coll_scatter(p->t, is_root ? &all->blocks : NULL, whole(mine), name, in_place,
                        p->plain) == COLL_OK);
    finish(p, mine, "scatter");
    finish(p, all, "scatter, sent");
}

static inline void play_allgather(struct play *p)
{
    unsigned first = first_peer(p->me), n = peer_count(p->me);
    size_t size[UNIT_RANKS_MAX];
    any_sizes(p, size);
    bool in_place = !is_inter() && below(&p->all, 2);
    struct side *mine = new_side(), *all = new_side();
    lay_out_one(mine, p, size[p->me]);
    put_data(mine, 0, datum(p, p->me, 0, size[p->me]));
    lay_out(all, p, n, size + first, false);
    for (unsigned r = 0; r < n; r++)
        (in_place && r == p->me ? put_data : expect)(all, r,
                                                     datum(p, first + r, 0, size[first + r]));
    struct buffer from = in_place ? block_of(&all->blocks, p->me) : whole(mine);
    EXPECT(coll_allgather(p->t, from, &all->blocks, in_place) == COLL_OK);
    finish(p, mine, "allgather, sent");
    finish(p, all, "allgather");
}

/* How much `from` sends to `to`. Equal blocks are equal for all senders of a group. In place, two
 * ranks send each other equally much. */
static inline size_t size_between(struct play *p, unsigned from, unsigned to, bool equal,
                                  bool symmetric)
{
    unsigned a = symmetric && from > to ? to : from, b = symmetric && from > to ? from : to;
    struct chance pair = {p->all.state + (equal ? group_of(from) * 31 : a * 977 + b)};
    size_t room = bytes_a_round / p->n / p->n;
    if (equal)
        return any_size(&pair, room);
    return below(&pair, 3) ? below(&pair, 2) * below(&pair, 300) : any_size(&pair, room * 2);
}

static inline void play_alltoall(struct play *p)
{
    unsigned first = first_peer(p->me), n = peer_count(p->me);
    size_t sent[UNIT_RANKS_MAX] = {0}, got[UNIT_RANKS_MAX] = {0};
    bool in_place = !is_inter() && below(&p->all, 2), equal = below(&p->all, 2);
    struct side *out = new_side(), *in = new_side();
    p->plain = equal && below(&p->all, 2);
    for (unsigned r = 0; r < n; r++) {
        sent[r] = size_between(p, p->me, first + r, equal, in_place);
        got[r] = size_between(p, first + r, p->me, equal, in_place);
    }
    lay_out(out, p, n, sent, true);
    lay_out(in, p, n, got, true);
    for (unsigned r = 0; r < n; r++) {
        put_data(in_place ? in : out, r, datum(p, p->me, first + r, sent[r]));
        expect(in, r, datum(p, first + r, p->me, got[r]));
    }
    EXPECT(coll_alltoall(p->t, in_place ? &in->blocks : &out->blocks, &in->blocks, in_place) ==
           COLL_OK);
    finish(p, out, "alltoall, sent");
    finish(p, in, "alltoall");
}

/* ---- reductions ---- */

enum kind { REDUCE, ALLREDUCE, SCAN, EXSCAN };

/* Some ranks take the short path where there is one, others the general one. */
static inline enum coll_error any_allreduce(struct play *p, const struct flavour *f,
                                            struct buffer in, struct buffer out)
{
    size_t bytes = in.count * in.map->size;
    bool plain = reducer_is_plain(&f->red) && !out.map->without_holes;
    if (is_inter() || !plain || !coll_is_few(p->t, bytes) || below(&p->own, 2))
        return coll_allreduce(p->t, &f->red, in, out);
    coll_allreduce_few(p->t, f->red.kernel, in.at, out.at, in.count, bytes);
    return COLL_OK;
}

static inline void play_reduction(struct play *p, enum kind kind)
{
    static const char *const names[] = {"reduce", "allreduce", "scan", "exscan"};
    struct flavour f = any_flavour(p);
    unsigned root = below(&p->all, p->n), first = first_peer(p->me), count = peer_count(p->me);
    size_t elements = any_elements(p, &f);
    uint32_t name = 0;
    if (kind == REDUCE && !takes_part(p, root, &name))
        return;
    bool is_root = p->me == root;
    bool receives = kind == REDUCE ? is_root : kind != EXSCAN || p->me > 0;
    bool sends = kind != REDUCE || !is_root || !is_inter();
    bool in_place =
        below(kind == REDUCE ? &p->own : &p->all, 2) && !is_inter() && (receives || kind == EXSCAN);
    if (kind == SCAN || kind == EXSCAN)
        count = p->me + (kind == SCAN);
    struct side *from = elements_side(p, &f, elements), *to = elements_side(p, &f, elements);
    if (sends)
        put_data(in_place ? to : from, 0, operand(p, &f, p->me, elements));
    if (receives)
        expect(to, 0, combined(p, &f, first, count, elements, 0, elements));
    struct buffer in = whole(in_place ? to : from), out = whole(to);
    enum coll_error error = kind == REDUCE      ? coll_reduce(p->t, &f.red, in, out, name)
                            : kind == ALLREDUCE ? any_allreduce(p, &f, in, out)
                                                : coll_scan(p->t, &f.red, in, out, kind == EXSCAN);
    EXPECT(error == COLL_OK, "%s of %zu bytes among %u: error %u", names[kind],
           elements * f.red.element, p->n, error);
    finish(p, from, "operand");
    finish(p, to, names[kind]);
}

static inline void play_reduce(struct play *p)
{
    play_reduction(p, REDUCE);
}

static inline void play_allreduce(struct play *p)
{
    play_reduction(p, ALLREDUCE);
}

/* Scans, which only intracommunicators have. */
static inline void play_scan(struct play *p)
{
    play_reduction(p, below(&p->all, 2) ? SCAN : EXSCAN);
}

/* Each group divides the same number of elements among its ranks. */
static inline void play_reduce_scatter(struct play *p)
{
    struct flavour f = any_flavour(p);
    size_t elements = any_elements(p, &f), share[2][UNIT_RANKS_MAX], first = 0;
    bool equal = !is_inter() && below(&p->all, 2), in_place = !is_inter() && below(&p->all, 2);
    if (equal)
        elements = elements / p->n * p->n;
    for (unsigned g = 0; g < 2; g++) {
        size_t left = elements;
        for (unsigned r = 0; r < group_size[g]; r++) {
            size_t some = below(&p->all, 3) ? any(&p->all) % (left + 1) : 0;
            some = equal ? elements / p->n : r + 1 < group_size[g] ? some : left;
            left -= share[g][r] = some;
        }
    }
    unsigned g = group_of(p->me), rank = p->me - first_of(g);
    for (unsigned r = 0; r < rank; r++)
        first += share[g][r];
    struct side shares = {0};
    lay_out_elements(&shares, &p->own, group_size[g], f.red.map, share[g],
                     equal && below(&p->own, 4));
    struct side *from = elements_side(p, &f, elements),
                *to = elements_side(p, &f, in_place ? elements : share[g][rank]);
    put_data(in_place ? to : from, 0, operand(p, &f, p->me, elements));
    struct buffer in = whole(in_place ? to : from), out = whole(to);
    out.count = share[g][rank];
    char *sum = combined(p, &f, first_peer(p->me), peer_count(p->me), elements, first, out.count);
    spread(out, to->image - to->memory, sum);
    free(sum);
    EXPECT(coll_reduce_scatter(p->t, &f.red, in, out, &shares.blocks) == COLL_OK);
    finish(p, from, "operand");
    finish(p, to, "reduce_scatter");
}

/* ---- rounds ---- */

typedef void play_fn(struct play *);
static play_fn *const every[] = {play_bcast,          play_gather, play_scatter,   play_allgather,
                                 play_alltoall,       play_reduce, play_allreduce, play_barrier,
                                 play_reduce_scatter, play_scan};

/* The last one, a scan, is not defined in an intercommunicator. */
static inline unsigned every_count(void)
{
    return sizeof every / sizeof *every - is_inter();
}

static play_fn *played; /* NULL: any */
static unsigned rounds;

static inline void play_rounds(unsigned me)
{
    struct chance own = {me + 1};
    for (uint64_t round = 1; round <= rounds; round++) {
        struct play p = {.t = team_of[me],
                         .me = me,
                         .n = unit_ranks.size,
                         .round = round,
                         .all = {round * 1000003 + unit_ranks.size},
                         .own = {any(&own)}};
        unsigned which = below(&p.all, every_count());
        dawdle(&own);
        team_of[me]->policy = any(&own) & (COPY_POLICY_NONTEMPORAL | COPY_POLICY_BY_OS);
        if (refuses_percent)
            team_of[me]->can_access_peers = true; /* although the OS has refused before */
        (played ? played : every[which])(&p);
    }
}

/* In the team that make_team() or make_groups() has made. */
static inline void play(play_fn *what, unsigned how_often, size_t bytes)
{
    unsigned size = group_size[0] + group_size[1];
    played = what;
    bytes_a_round = effort((unsigned)bytes);
    rounds = how_often;
    reset_arrived();
    as_ranks(size, play_rounds);
    free_team(size);
}

/* ---- a slow reader of many broadcasts ---- */

static unsigned followed_by;
static _Atomic uint64_t published; /* the last round in which all broadcasts are published */

static inline void meet(struct team *t)
{
    if (!is_inter()) {
        coll_barrier(t);
    } else {
        coll_barrier(t);
        team_done(t, t->op);
    }
}

/* In each round a rank broadcasts as often as it has slots or cells, and one rank does not read
 * them yet. Whatever the root publishes next must wait. */
static inline void read_late(unsigned me)
{
    struct team *t = team_of[me];
    unsigned n = group_size[0] + group_size[1];
    static const size_t some[] = {8, TEAM_CELL};
    for (uint64_t round = 1; round <= 16; round++) {
        unsigned root = round % n;
        unsigned late =
            first_peer(root) + (unsigned)(root + 1 + (round & 1) + round / 4) % peer_count(root);
        size_t bytes = some[round / 8 % 2];
        late = late == root ? (root + 1) % n : late;
        char *data = malloc(bytes);
        struct play p = {.t = t,
                         .me = me,
                         .n = n,
                         .round = round,
                         .all = {round * 77 + followed_by},
                         .own = {round * 64 + me}};
        meet(t);
        while (me == late && published < round)
            sleep_us(100);
        if (me == late)
            sleep_us(2000);
        for (int i = 0; i < (bytes > SLOT_ROOM ? TEAM_CELLS : TEAM_SLOTS); i++) {
            uint32_t name;
            if (!takes_part(&p, root, &name))
                continue;
            memset(data, me == root ? i : 99, bytes);
            EXPECT(coll_bcast(t, buffer(data, BYTES, bytes), name) == COLL_OK);
            EXPECT(data[0] == (char)i && data[bytes - 1] == (char)i, "broadcast %d, then %u: %d", i,
                   followed_by, data[0]);
        }
        if (me == root)
            published = round;
        every[followed_by](&p);
        free(data);
    }
}

/* With every collective as the next operation of a team, which `make` creates. */
static inline void play_after_late_reads(void (*make)(void), size_t bytes)
{
    bytes_a_round = bytes;
    make();
    unsigned size = group_size[0] + group_size[1], count = every_count();
    free_team(size);
    for (followed_by = 0; followed_by < count; followed_by++) {
        published = 0;
        make();
        reset_arrived();
        as_ranks(size, read_late);
        free_team(size);
    }
}

/* One test case per collective. */
#define TEST_OF(name, what)      \
    START_TEST(name)             \
    {                            \
        play_in_all_sizes(what); \
    }                            \
    END_TEST

#endif
