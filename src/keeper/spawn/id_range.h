/* keeper/spawn/id_range.h -- ranges of host uids and gids for sandboxes with several users.
 *
 * A range of JAIL_IDS ids belongs to one sandbox at a time.  All Cella processes of this machine that run as
 * root share one file; a range is in use while someone holds a lock on its byte.  The kernel releases the
 * lock when the process exits, however that happens. */
#pragma once

/* Takes a range.  Returns a descriptor that holds it, and its first id; or -errno, if there is none. */
int id_range_take(unsigned *ret_first);
