/* keeper/process/notify.h -- tells the service manager how we are, if there is one (sd_notify(3)). */
#pragma once

/* state: "READY=1", "STOPPING=1".  The address is taken out of the environment by the first call of
 * notify_init(), so that no child has it. */
void notify_init(void);
void notify(const char *state);
