/* Passes a call to MPI. */
#include "call.h"

static struct args args_of(const struct side *side)
{
    struct args a = {.at = side->at, .type = MPI_DATATYPE_NULL};
    int n = side->blocks;
    a.counts = keep((size_t)(n + 1) * sizeof *a.counts);
    a.displs = keep((size_t)(n + 1) * sizeof *a.displs);
    a.large_counts = keep((size_t)(n + 1) * sizeof *a.large_counts);
    a.large_displs = keep((size_t)(n + 1) * sizeof *a.large_displs);
    a.types = keep((size_t)(n + 1) * sizeof(MPI_Datatype));
    for (int i = 0; i < n; i++) {
        const struct block *b = &side->block[i];
        a.large_counts[i] = a.counts[i] = (int)b->count;
        a.large_displs[i] = a.displs[i] = (int)b->displ;
        bool another = i == 0 || side->shape == TYPED;
        a.types[i] = another ? layout_type(b->layout) : a.types[0];
    }
    if (n) {
        a.count = a.counts[0];
        a.type = a.types[0];
    }
    return a;
}

/* For arguments that MPI must ignore. */
static struct args rubbish_args(struct call *c, void *rubbish)
{
    struct rng r = rng_for(c->seed, (uint64_t)(c->rank + 5000));
    struct args a = {.type = MPI_DATATYPE_NULL};
    if (chance(&r, 50))
        a = (struct args){.at = rubbish, .count = between(&r, 0, 9), .type = MPI_INT};
    return a;
}

void args_open(struct call *c, struct args *send, struct args *receive, void *rubbish)
{
    bool no_send = c->send.shape == NOTHING, no_receive = c->receive.shape == NOTHING;
    *send = no_send ? rubbish_args(c, rubbish) : args_of(&c->send);
    *receive = no_receive ? rubbish_args(c, rubbish) : args_of(&c->receive);
    if (c->inter && no_send && !no_receive && c->form->reduces) { /* at the root */
        void *at = send->at;
        *send = *receive;
        send->at = at;
    }
    if (!c->in_place)
        return;
    if (no_receive)
        receive->at = MPI_IN_PLACE;
    if (no_send && c->form->reduces) /* count and type are those of both sides */
        *send = *receive;
    if (no_send)
        send->at = MPI_IN_PLACE;
}

void execute(struct call *c, struct args *send, struct args *receive, MPI_Comm comm)
{
    if (c->user)
        user_op_expect(c, send->type);
    must_succeed(c->form->name, c->form->execute(c, send, receive, comm));
}

static void free_types(const struct side *side, struct args *a)
{
    for (int i = 0; i < side->blocks; i++)
        if (i == 0 || side->shape == TYPED)
            layout_type_free(side->block[i].layout, &a->types[i]);
}

void args_close(struct call *c, struct args *send, struct args *receive)
{
    free_types(&c->send, send);
    free_types(&c->receive, receive);
}
