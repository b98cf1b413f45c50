/* init/temporary.h -- names that are ours and soon gone; nobody is told of them. */
#pragma once
#define TEMPORARY_PREFIX ".cella-tmp-"
