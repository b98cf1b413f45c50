/* base/list.h -- doubly linked intrusive lists: struct list is a member of the linked objects. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct list {
        struct list *next, *previous;
};

static inline void list_init(struct list *l)
{
        l->next = l->previous = l;
}

static inline bool list_empty(const struct list *l)
{
        return l->next == l;
}

/* Appends entry to the list. */
static inline void list_add(struct list *l, struct list *entry)
{
        entry->next = l;
        entry->previous = l->previous;
        l->previous->next = entry;
        l->previous = entry;
}

/* Removes entry from its list.  entry may be in no list if it was initialised. */
static inline void list_remove(struct list *entry)
{
        entry->previous->next = entry->next;
        entry->next->previous = entry->previous;
        list_init(entry);
}

#define list_entry(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Only the current entry may be removed in the loop body.  NOLINTBEGIN(bugprone-macro-parentheses): at and
 * after are names to declare */
#define list_each(at, head, after)                                                                           \
        for (struct list *at = (head)->next, *after = at->next; at != (head); at = after, after = at->next)
/* NOLINTEND(bugprone-macro-parentheses) */
