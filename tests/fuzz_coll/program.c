#include "program.h"

static struct profile invent_profile(struct rng *r, bool tame)
{
    static const int share[] = {0, 20, 50, 90};
    static const int sources[] = {0, 100, 100, 50, 80};
    static const long most[] = {64, 300, 5000, 70000, 3000000, 3000000};
    struct profile p = {.warm = chance(r, 65)};
    p.tame = tame || !p.warm;
    p.aligned = chance(r, 75) || p.tame;
    p.derived = share[below(r, 4)];
    p.depth = (int)below(r, 3);
    p.in_place = share[below(r, 4)];
    p.from_mpi = sources[below(r, 5)];
    p.user_ops = share[below(r, 3)];
    p.dawdle = share[below(r, 3)];
    p.large = share[below(r, 3)];
    p.most = most[below(r, 6)];
    return p;
}

/* ---- communicators ---- */

static void shuffle_keys(struct rng *r, struct team *t, int size)
{
    for (int i = 0; i < size; i++) {
        int j = (int)below(r, i + 1);
        t->key[i] = t->key[j];
        t->key[j] = i;
    }
}

static struct team invent_team(struct rng *r, int size)
{
    enum { WORLD, DUPLICATE, REVERSED, SHUFFLED, STRIPES, HALVES, ONE_OUT, ANY, ALONE };
    static const int share[] = {WORLD,   WORLD,   DUPLICATE, DUPLICATE, REVERSED, SHUFFLED,
                                STRIPES, STRIPES, HALVES,    ONE_OUT,   ANY,      ALONE};
    int how = share[below(r, 12)];
    struct team t = {.world = how == WORLD, .duplicate = how == DUPLICATE};
    int groups = (int)between(r, 2, 3), one = (int)below(r, size), cut = (int)below(r, size);
    for (int i = 0; i < size; i++) {
        t.key[i] = how == REVERSED ? -i : i;
        t.color[i] = how == STRIPES   ? i % groups
                     : how == HALVES  ? i >= cut
                     : how == ONE_OUT ? -(i == one)
                     : how == ANY     ? (int)between(r, -1, 2)
                     : how == ALONE   ? i
                                      : 0;
    }
    if (how == SHUFFLED || chance(r, 20))
        shuffle_keys(r, &t, size);
    return t;
}

/* Replace the groups by two groups, or by two pairs of groups. */
static void invent_groups(struct rng *r, struct team *t, int size)
{
    if (size < 2 || !chance(r, 20))
        return;
    bool four = size >= 4 && chance(r, 30);
    int cut = (int)between(r, 1, size - 1), turn = (int)below(r, size);
    *t = (struct team){.inter = true};
    for (int i = 0; i < size; i++) {
        t->color[i] = four ? i % 4 : (i + turn) % size >= cut;
        t->key[i] = i;
    }
    if (chance(r, 50))
        shuffle_keys(r, t, size);
}

/* ---- steps ---- */

static enum collective pick_collective(struct rng *r)
{
    return (enum collective)below(r, COLLECTIVES);
}

/* Any calls, or many of one kind on one communicator, so that ranks run ahead. */
static void invent_round(struct program *p, struct rng *r, struct round *round, int *id)
{
    enum collective favourite = pick_collective(r);
    int team = (int)below(r, TEAMS);
    bool many = chance(r, 25);
    round->renewed = chance(r, 15) ? (int)below(r, TEAMS) : -1;
    round->team = invent_team(r, p->size);
    round->new_ops = chance(r, 10);
    round->steps = many ? STEPS_MAX : (int)between(r, 1, 4);
    for (int i = 0; i < round->steps; i++) {
        struct step *s = &round->step[i];
        long kind = below(r, 100);
        *s = (struct step){.id = (*id)++, .act = COLLECT};
        s->collective = many ? favourite : pick_collective(r);
        s->team = many ? team : (int)below(r, TEAMS);
        if (!many && kind < 16)
            s->act = kind < 8 ? MESSAGE : BACKGROUND;
    }
}

void program_invent(struct program *p, uint64_t seed, int size, const struct options *options)
{
    struct rng r = rng_for(seed, 0), groups = rng_for(seed, 1);
    int id = 0;
    *p = (struct program){.seed = seed, .size = size};
    p->profile = invent_profile(&r, options->tame);
    p->profile.depth += options->deep ? DEEPER : 0;
    bool groups_too = p->profile.warm && !p->profile.tame;
    for (int i = 0; i < TEAMS; i++)
        p->team[i] = invent_team(&r, size);
    for (int i = 0; i < TEAMS && groups_too; i++)
        invent_groups(&groups, &p->team[i], size);
    p->rounds = (int)between(&r, 4, p->profile.most > 100000 ? 12 : ROUNDS_MAX);
    for (int i = 0; i < p->rounds; i++)
        invent_round(p, &r, &p->round[i], &id);
    for (int i = 0; i < p->rounds && groups_too; i++)
        invent_groups(&groups, &p->round[i].team, size);
}
