/* image/store/upgrade.h -- documents of earlier versions, which were JSON. */
#pragma once

/* Converts each meta/ID.json of the store to meta/ID, and removes it.  Invalid files stay; nothing uses them.
 * Call it while the store's lock is held exclusively.  Returns an error if a valid file could not be read or
 * converted: then its image is still needed, although no document mentions it. */
int upgrade_documents(int store);
