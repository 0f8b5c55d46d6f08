#include "bsend/short.h"

#include "core/sync.h"
#include "core/thread.h"

enum { PASSED_PER_LOOK = 16 };

struct short_sends short_sends;

static short_sent_fn *has_been_sent;

void short_open(size_t bytes, short_sent_fn *sent)
{
    has_been_sent = sent;
    short_sends.limit = thread_concurrent ? 0 : bytes < SHORT_MAX ? bytes : SHORT_MAX;
}

void short_close(void)
{
    short_sends.limit = 0;
}

/* The host may call the program back: then the slot is taken. */
static void look(void)
{
    struct short_sends *s = &short_sends;
    if (s->state != SHORT_FLYING)
        return;
    s->state = SHORT_BUSY;
    s->state = has_been_sent(&s->request) ? SHORT_FREE : SHORT_FLYING;
}

COLD void short_look(void)
{
    if (++short_sends.passed % PASSED_PER_LOOK == 0)
        look();
}

void short_drain(void)
{
    struct sync_wait wait = SYNC_WAIT;
    for (look(); short_sends.state == SHORT_FLYING; look())
        sync_pause(&wait);
}
