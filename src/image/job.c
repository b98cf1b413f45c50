#include <errno.h>

#include "base/err.h"
#include "image/imager.h"

int job_cancelled(const struct imager_job *job, struct cella_err *err)
{
        return job->cancelled ? err_say(err, CELLA_INVALID_REQUEST, -ECANCELED, "cancelled") : 0;
}
