/* init/temporary.h -- names that are ours and soon gone; watchers are not told of them. */
#pragma once
#define TEMPORARY_PREFIX ".cella-tmp-"
