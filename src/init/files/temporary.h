/* init/files/temporary.h -- prefix of temporary files of init, which are not reported. */
#pragma once
#define TEMPORARY_PREFIX ".cella-tmp-"
