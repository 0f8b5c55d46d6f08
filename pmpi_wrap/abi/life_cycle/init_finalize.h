/* When the host can be used. */
#ifndef MPIACCEL_INIT_FINALIZE_H
#define MPIACCEL_INIT_FINALIZE_H

#include "core/base.h"

/* Whether the program has the world model or a session open. */
bool host_is_in_use(void);

/* Whether the program has ever opened a session. */
bool sessions_were_used(void);

#endif
