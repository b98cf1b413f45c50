/* image/store/upgrade.h -- documents of earlier versions, which were JSON. */
#pragma once

/* Converts each meta/ID.json of the store to meta/ID, and removes it.  Files that cannot be converted stay;
 * nothing uses them.  Call it while the store's lock is held exclusively. */
void upgrade_documents(int store);
