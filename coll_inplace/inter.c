#include "coll_inplace/inter.h"

#include "coll_inplace/choose.h"
#include "coll_inplace/parcel.h"

#include <stdlib.h>

/* The end of a call: who has read what stays where it lies says so at once. */
static void end(struct team *t, bool bound)
{
    if (bound)
        team_done(t, t->op);
    else
        team_end(t);
}

void inter_pass(struct team *t)
{
    team_begin(t);
    team_end(t);
}

void inter_barrier(struct team *t)
{
    uint32_t op = team_begin(t);
    team_await_room(t, POST_HERE);
    team_post(t, op, POST_HERE, 0);
    for (uint32_t r = 0; r < t->size; r++)
        team_hear(t, r, op);
    team_all_did(t, op - 1);
    team_end(t);
}

/* ---- streams ----
 *
 * Rank a of one group and b of the other are partners in step a + b modulo the larger group's size:
 * each goes round the other group in a circle, and all meet. */

/* Where a rank of a group of `group` ranks begins among the `others`. */
static uint32_t first_partner(uint32_t rank, uint32_t group, uint32_t others)
{
    uint32_t wrap = (group > others ? group : others) - rank;
    return wrap < others ? wrap : 0;
}

static uint32_t partner(const struct team *t, uint32_t i)
{
    return (first_partner(t->rank, t->group, t->size) + i) % t->size;
}

/* What a rank streams to us alone. */
static enum coll_error take_stream(struct team *t, uint32_t rank, const struct post *post,
                                   struct buffer to)
{
    return stream_take(t, stream_in(t, rank, to, post_bytes(post), post_start(post)));
}

/* What it streams to each of us, in its circle. */
static struct stream stream_for_each(struct team *t, uint32_t rank, const struct post *post,
                                     struct buffer to)
{
    uint32_t first = first_partner(rank, t->size, t->group);
    uint32_t turn = (t->rank + t->group - first) % t->group;
    uint32_t start = post_start(post) + turn * stream_pieces(post_bytes(post));
    return stream_in(t, rank, to, post_bytes(post), start);
}

/* ---- the same data for one or all ---- */

static bool streams(const struct post *post)
{
    return post_kind(post) == POST_PIECES;
}

static bool stays(const struct post *post)
{
    return post_kind(post) == POST_PLACE;
}

static void send(struct team *t, uint32_t op, struct buffer data)
{
    enum post_kind kind = team_post_data(t, op, data, STAY_LONG, stream_start(t));
    if (kind == POST_PLACE)
        team_await_all(t, op);
    for (uint32_t i = 0; kind == POST_PIECES && i < t->size; i++)
        stream_give(t, data);
}

enum coll_error inter_bcast(struct team *t, struct buffer data, uint32_t root)
{
    uint32_t op = team_begin(t);
    if (root == INTER_ROOT) {
        send(t, op, data);
        team_end(t);
        return COLL_OK;
    }
    const struct post *post = team_hear_stream(t, root, op);
    enum coll_error error;
    bool bound = stays(post);
    if (streams(post))
        error = stream_take(t, stream_for_each(t, root, post, data));
    else
        error = coll_take_post(t, root, op, post, data);
    end(t, bound);
    return error;
}

static void send_to_root(struct team *t, uint32_t op, struct buffer mine, uint32_t root)
{
    enum post_kind kind = team_post_data(t, op, mine, STAY_LONG, stream_start(t));
    if (kind == POST_PLACE)
        sync_await(&t->row[root]->done, op);
    else if (kind == POST_PIECES)
        stream_give(t, mine);
}

enum coll_error inter_gather(struct team *t, struct buffer mine, const struct blocks *all,
                             uint32_t root)
{
    enum coll_error error = COLL_OK;
    bool bound = false;
    uint32_t op = team_begin(t);
    if (root != INTER_ROOT)
        send_to_root(t, op, mine, root);
    for (uint32_t r = 0; root == INTER_ROOT && r < t->size; r++) {
        const struct post *post = team_hear_stream(t, r, op);
        bound |= stays(post);
        error |= streams(post) ? take_stream(t, r, post, block_of(all, r))
                               : coll_take_post(t, r, op, post, block_of(all, r));
    }
    end(t, bound);
    return error;
}

enum coll_error inter_allgather(struct team *t, struct buffer mine, const struct blocks *all)
{
    enum coll_error error = COLL_OK;
    uint32_t op = team_begin(t);
    enum post_kind kind = team_post_data(t, op, mine, STAY, stream_start(t));
    bool bound = false, streaming = kind == POST_PIECES;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct post *post = team_hear(t, r, op);
        bound |= stays(post);
        streaming |= streams(post);
        if (!streams(post))
            error |= coll_take_post(t, r, op, post, block_of(all, r));
    }
    team_all_did(t, op - 1);
    for (uint32_t i = 0; streaming && i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct post *post = team_hear(t, r, op);
        struct stream in = stream_none(t), out = stream_none(t);
        if (streams(post))
            in = stream_for_each(t, r, post, block_of(all, r));
        if (kind == POST_PIECES)
            out = stream_out(t, mine, stream_start(t));
        error |= stream_run(&out, &in, false);
    }
    team_end_bound(t, op, bound, kind == POST_PLACE);
    return error;
}

/* ---- something else for every rank ----
 *
 * A post with a table of parcels (parcel.h), in the post if there is room, else at the beginning of
 * the cell; behind it what is copied. `ranks`: of the readers. */

static size_t table_bytes(uint32_t ranks)
{
    return ranks * sizeof(struct parcel);
}

static char *table_of(struct row *row, uint32_t op, uint32_t ranks)
{
    return table_bytes(ranks) <= POST_ROOM ? post_of(row, op)->data : cell_of(row, op);
}

static char *behind_table(struct row *row, uint32_t op, uint32_t ranks, enum post_kind kind)
{
    if (kind == POST_HERE)
        return post_of(row, op)->data + table_bytes(ranks);
    return cell_of(row, op) + (table_bytes(ranks) <= POST_ROOM ? 0 : table_bytes(ranks));
}

static bool may_stay(struct team *t, const struct blocks *all, size_t bytes, enum stay stay)
{
    bool shared = true, fits = bytes + table_bytes(t->size) <= TEAM_CELL;
    if (bytes < CHOOSE_PLACE || (stay == STAY_LONG && fits))
        return false;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = bytes_of(block_of(all, r));
        place_t place = some ? team_place(t, block_of(all, r), some) : 0;
        if (some && !place)
            return false;
        shared = shared && (!place || place_shared(place));
    }
    return shared || !fits;
}

static enum post_kind choose(struct team *t, const struct blocks *all, size_t bytes, enum stay stay)
{
    if (bytes + table_bytes(t->size) <= POST_ROOM)
        return POST_HERE;
    if (may_stay(t, all, bytes, stay))
        return POST_PLACE;
    return bytes + table_bytes(t->size) <= TEAM_CELL ? POST_CELL : POST_PIECES;
}

/* Small blocks never keep the root of a scatter, however many there are (H15): a block of memory
 * for all of them. NULL: no need, or no room. */
static char *hold(struct team *t, uint32_t op, enum post_kind kind, size_t bytes, size_t largest,
                  enum stay stay)
{
    bool keeps = kind == POST_PLACE || kind == POST_PIECES;
    if (!keeps || stay != STAY_LONG || largest > CHOOSE_EAGER || bytes > CHOOSE_HOLD)
        return NULL;
    return team_hold(t, op, bytes);
}

/* Returns how: POST_PLACE and POST_PIECES keep us. */
static enum post_kind post_parcels(struct team *t, uint32_t op, const struct blocks *all,
                                   enum stay stay)
{
    size_t bytes = 0, largest = 0, at = 0;
    for (uint32_t r = 0; r < t->size; r++) {
        size_t some = bytes_of(block_of(all, r));
        bytes += some;
        largest = some > largest ? some : largest;
    }
    enum post_kind kind = choose(t, all, bytes, stay);
    team_await_room(t, kind);
    char *held = hold(t, op, kind, bytes, largest, stay), *table = table_of(t->mine, op, t->size);
    char *to = held ? held : behind_table(t->mine, op, t->size, kind);
    uint32_t stream = stream_start(t);
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        struct buffer block = block_of(all, r);
        struct parcel parcel = {.bytes = bytes_of(block)};
        if (kind == POST_PLACE && !held) {
            parcel.where = parcel.bytes ? team_place(t, block, parcel.bytes) : 0;
        } else if (kind == POST_PIECES && !held) {
            parcel.where = stream;
            stream += stream_pieces(parcel.bytes);
        } else {
            parcel.where = held ? (place_t)(held + at - node.base) << 1 : at;
            team_fill(t, to + at, block, 0, parcel.bytes);
            at += parcel.bytes;
        }
        memcpy(table + r * sizeof parcel, &parcel, sizeof parcel);
    }
    team_post(t, op, held ? POST_PLACE : kind, at);
    return held ? POST_CELL : kind;
}

static struct parcel parcel_from(struct team *t, uint32_t rank, uint32_t op)
{
    struct parcel parcel;
    const char *table = table_of(t->row[rank], op, t->group);
    memcpy(&parcel, table + t->rank * sizeof parcel, sizeof parcel);
    return parcel;
}

/* If it is no stream. */
static enum coll_error take_parcel(struct team *t, uint32_t rank, uint32_t op,
                                   const struct post *post, struct buffer to)
{
    struct parcel parcel = parcel_from(t, rank, op);
    if (stays(post))
        return coll_take_place(t, rank, parcel.where, to, parcel.bytes);
    const char *data = behind_table(t->row[rank], op, t->group, post_kind(post));
    return coll_take(to, 0, data + parcel.where, parcel.bytes);
}

static void scatter(struct team *t, uint32_t op, const struct blocks *all)
{
    enum post_kind kind = post_parcels(t, op, all, STAY_LONG);
    if (kind == POST_PLACE)
        team_await_all(t, op);
    for (uint32_t i = 0; kind == POST_PIECES && i < t->size; i++)
        stream_give(t, block_of(all, partner(t, i)));
}

enum coll_error inter_scatter(struct team *t, const struct blocks *all, struct buffer mine,
                              uint32_t root)
{
    uint32_t op = team_begin(t);
    if (root == INTER_ROOT) {
        scatter(t, op, all);
        team_end(t);
        return COLL_OK;
    }
    const struct post *post = team_hear_stream(t, root, op);
    enum coll_error error;
    bool bound = stays(post);
    if (streams(post))
        error = stream_take(t, parcel_stream(t, root, parcel_from(t, root, op), mine));
    else
        error = take_parcel(t, root, op, post, mine);
    end(t, bound);
    return error;
}

enum coll_error inter_alltoall(struct team *t, const struct blocks *to, const struct blocks *from)
{
    enum coll_error error = COLL_OK;
    uint32_t op = team_begin(t);
    enum post_kind kind = post_parcels(t, op, to, STAY);
    bool bound = false, streaming = kind == POST_PIECES;
    for (uint32_t i = 0; i < t->size; i++) {
        uint32_t r = partner(t, i);
        const struct post *post = team_hear(t, r, op);
        bound |= stays(post);
        streaming |= streams(post);
        if (!streams(post))
            error |= take_parcel(t, r, op, post, block_of(from, r));
    }
    team_all_did(t, op - 1);
    for (uint32_t i = 0; streaming && i < t->size; i++) {
        uint32_t r = partner(t, i);
        struct stream in = stream_none(t), out = stream_none(t);
        if (streams(team_hear(t, r, op)))
            in = parcel_stream(t, r, parcel_from(t, r, op), block_of(from, r));
        if (kind == POST_PIECES)
            out = stream_out(t, block_of(to, r), stream_start(t));
        error |= stream_run(&out, &in, false);
    }
    team_end_bound(t, op, bound, kind == POST_PLACE);
    return error;
}

/* ---- reductions ---- */

/* Parts of operands that are fetched to be combined. */
enum { PART = STREAM_CELLS / 2 * STREAM_CELL };

/* What we combine of the other group's operands, which their posts of operation `op` have. */
struct work {
    struct team *t;
    const struct reducer *red;
    uint32_t op;
    size_t first, bytes; /* of each */
    struct buffer to;
    char *sum, *room; /* of `part` bytes each */
    size_t part;
    bool streaming; /* some operand is a stream: then a part is all */
    enum coll_error error;
};

static size_t total(const struct reducer *red, struct buffer b)
{
    return red->element * reducer_elements(red, b);
}

/* Rank r's operand, fetched to `room` if need be. */
static const char *operand(struct work *w, uint32_t r, size_t at, size_t bytes, char *room)
{
    struct team *t = w->t;
    const struct post *post = team_hear(t, r, w->op);
    if (streams(post)) {
        struct run run;
        struct typemap image = typemap_of_bytes(&run, bytes);
        w->error |= take_stream(t, r, post, (struct buffer){room, &image, 1});
        return room;
    }
    if (!stays(post))
        return post_data(t, r, w->op, post) + w->first + at;
    place_t place = post_place(post);
    if (place_shared(place))
        return place_shared(place) + w->first + at;
    if (!place_read(t, r, place, w->first + at, room, bytes))
        w->error |= COLL_UNREACHABLE;
    return room;
}

static void combine_part(struct work *w, size_t at, size_t bytes, char *out)
{
    const char *sum = operand(w, 0, at, bytes, out);
    if (w->t->size == 1 && sum != out)
        copy_bytes(out, sum, bytes);
    for (uint32_t r = 1; r < w->t->size; r++) {
        reducer_combine(w->red, out, sum, operand(w, r, at, bytes, w->room), bytes);
        sum = out;
    }
}

/* Nobody may be left with a stream that is not taken. */
static void drain(struct work *w)
{
    struct run run;
    struct typemap image = typemap_of_bytes(&run, 1);
    for (uint32_t r = 0; r < w->t->size; r++) {
        const struct post *post = team_hear(w->t, r, w->op);
        if (streams(post))
            take_stream(w->t, r, post, (struct buffer){NULL, &image, 0});
    }
}

/* An operation of the user's gets all elements in one call. */
static enum coll_error combine(struct work *w)
{
    bool plain = reducer_is_plain(w->red), straight = plain && !w->to.map->without_holes;
    bool in_one = !plain || w->streaming || (straight && w->t->size == 1);
    char *more = NULL;
    if (w->red->starved) {
        drain(w);
        return COLL_NO_MEMORY;
    }
    w->part = in_one ? w->bytes : PART / w->red->element * w->red->element;
    w->sum = stream_cell(w->t->mine, 0);
    w->room = w->sum + PART;
    if (w->part > PART && !(straight && w->t->size == 1)) {
        if (!(more = malloc(2 * w->part))) {
            drain(w);
            return COLL_NO_MEMORY;
        }
        w->sum = more;
        w->room = more + w->part;
    }
    for (size_t at = 0; at < w->bytes; at += w->part) {
        size_t bytes = min_size(w->part, w->bytes - at);
        char *out = straight ? w->to.at + at : w->sum;
        combine_part(w, at, bytes, out);
        if (!straight)
            reducer_write(w->red, w->to, at, out, bytes);
    }
    free(more);
    return w->error;
}

/* Our operand as one that is moved; `image` is for it. */
static struct buffer operand_to_move(const struct reducer *red, struct buffer from, size_t bytes,
                                     struct run *run, struct typemap *image)
{
    if (!reducer_is_plain(red))
        return from;
    *image = typemap_of_bytes(run, bytes);
    return (struct buffer){from.at, image, 1};
}

enum coll_error inter_reduce(struct team *t, const struct reducer *red, struct buffer from,
                             struct buffer to, uint32_t root)
{
    struct run run;
    struct typemap image;
    size_t bytes = total(red, from);
    uint32_t op = team_begin(t);
    bool bound = false;
    struct work w = {.t = t, .red = red, .op = op, .bytes = bytes, .to = to};
    if (bytes && root != INTER_ROOT)
        send_to_root(t, op, operand_to_move(red, from, bytes, &run, &image), root);
    if (bytes && root == INTER_ROOT) {
        for (uint32_t r = 0; r < t->size; r++) {
            const struct post *post = team_hear_stream(t, r, op);
            bound |= stays(post);
            w.streaming |= streams(post);
        }
        w.error = combine(&w);
    }
    end(t, bound);
    return w.error;
}

/* Operands stay where they are, or are copied into a block of memory. Who has none says so; after
 * the second operation all ranks of both groups know whether one has. */
static enum coll_error combine_long(struct work *w, struct buffer from, size_t bytes)
{
    struct run run;
    struct typemap image;
    struct team *t = w->t;
    uint32_t verdict = w->op + 1;
    place_t place = team_place(t, operand_to_move(w->red, from, bytes, &run, &image), bytes);
    bool binds, good = true;
    char *block = place || w->red->starved ? NULL : team_hold(t, verdict, bytes);
    if (w->red->starved)
        place = 0;
    if (block) {
        reducer_read(w->red, block, from, 0, bytes);
        place = (place_t)(block - node.base) << 1;
    }
    binds = place && !block;
    team_await_room(t, POST_HERE);
    memcpy(post_of(t->mine, w->op)->data, &place, sizeof place);
    team_post(t, w->op, POST_PLACE, bytes);
    for (uint32_t r = 0; r < t->size; r++)
        good &= post_place(team_hear(t, r, w->op)) != 0;
    team_all_did(t, w->op - 1);
    team_begin(t);
    team_post_few(t, verdict, &good, sizeof good);
    for (uint32_t r = 0; r < t->size; r++) {
        bool theirs;
        memcpy(&theirs, team_hear(t, r, verdict)->data, sizeof theirs);
        good &= theirs;
    }
    enum coll_error error = good ? combine(w) : COLL_LEFT;
    team_done(t, verdict);
    if (binds)
        team_await_all(t, verdict);
    return error;
}

/* For all ranks, of each some. */
static enum coll_error reduce_for_all(struct work *w, struct buffer from)
{
    struct run run;
    struct typemap image;
    struct team *t = w->t;
    size_t bytes = total(w->red, from);
    bool bound = false;
    w->op = team_begin(t);
    if (bytes > TEAM_CELL)
        return combine_long(w, from, bytes);
    struct buffer mine = operand_to_move(w->red, from, bytes, &run, &image);
    enum post_kind kind = team_post_data(t, w->op, mine, STAY_OPERANDS, 0);
    for (uint32_t r = 0; r < t->size; r++)
        bound |= stays(team_hear(t, r, w->op));
    team_all_did(t, w->op - 1);
    enum coll_error error = combine(w);
    team_end_bound(t, w->op, bound, kind == POST_PLACE);
    return error;
}

enum coll_error inter_allreduce(struct team *t, const struct reducer *red, struct buffer from,
                                struct buffer to)
{
    struct work w = {.t = t, .red = red, .bytes = total(red, from), .to = to};
    return reduce_for_all(&w, from);
}

enum coll_error inter_reduce_scatter(struct team *t, const struct reducer *red, struct buffer from,
                                     struct buffer to, const struct blocks *shares)
{
    struct work w = {.t = t, .red = red, .to = to};
    for (uint32_t r = 0; r < t->rank; r++)
        w.first += total(red, block_of(shares, r));
    w.bytes = total(red, block_of(shares, t->rank));
    return reduce_for_all(&w, from);
}
