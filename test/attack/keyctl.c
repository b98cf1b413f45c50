#include "attack.h"

#include <linux/keyctl.h>

/* Keyrings know no namespace but the user's. */
ATTACK(keyctl, WALL_SECCOMP, "reach the kernel's keyrings")
{
        enum attack_outcome outcome;

        outcome = attack_judge("keyctl", CALL(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0),
                               EPERM, ANSWERS(ENOKEY, EACCES, ENOSYS));
        outcome = attack_worse(outcome, attack_judge("add_key",
                                                     CALL(SYS_add_key, BAD_POINTER, BAD_POINTER, NULL, 0, 0),
                                                     EPERM, ANSWERS(EFAULT, ENOSYS)));
        return attack_worse(outcome, attack_judge("request_key",
                                                  CALL(SYS_request_key, BAD_POINTER, BAD_POINTER, NULL, 0),
                                                  EPERM, ANSWERS(EFAULT, ENOSYS)));
}
