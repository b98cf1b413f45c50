/* schema/check.c -- checks a document against its table.
 *
 * The position in the document is a linked list on the stack; it is only converted to a path for an error
 * message. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "schema/schema.h"

/* Limits of a path, a word and a list of words, so that a message fits into struct cella_err. */
#define PATH_MAX_BYTES 96
#define NAME_MAX_BYTES 40
#define LIST_MAX_BYTES 120

struct place {
        const struct place *up; /* NULL: top level */
        const char *name;       /* NULL: item [index] */
        size_t index;
        unsigned depth;
};

struct text {
        char data[PATH_MAX_BYTES + NAME_MAX_BYTES + LIST_MAX_BYTES];
        size_t len;
};

/* Adds at most max bytes of from, without cutting a UTF-8 character. */
static void schema_check_add(struct text *t, const char *from, size_t max)
{
        size_t len = strlen(from);
        bool cut = len > max;
        if (cut) {
                len = max;
                while (len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80)
                        len--;
        }
        if (t->len + len + sizeof "..." > sizeof t->data)
                return;
        memcpy(t->data + t->len, from, len);
        t->len += len;
        if (cut) {
                memcpy(t->data + t->len, "...", 3);
                t->len += 3;
        }
        t->data[t->len] = '\0';
}

static void add_path(struct text *t, const struct place *place)
{
        if (!place)
                return;
        add_path(t, place->up);
        if (t->len > PATH_MAX_BYTES)
                return;
        if (!place->name) {
                char index[32];
                snprintf(index, sizeof index, "[%zu]", place->index);
                schema_check_add(t, index, sizeof index);
        } else if (*place->name) {
                if (t->len > 0)
                        schema_check_add(t, ".", 1);
                schema_check_add(t, place->name, NAME_MAX_BYTES);
        }
}

static const char *path_of(const struct place *place, struct text *t)
{
        t->len = 0;
        t->data[0] = '\0';
        add_path(t, place);
        return t->len > 0 ? t->data : "the document";
}

static void add_words(struct text *t, const char *const *words)
{
        for (size_t i = 0; words[i]; i++) {
                if (t->len + strlen(words[i]) + 4 > LIST_MAX_BYTES) {
                        schema_check_add(t, ", ...", 5);
                        return;
                }
                schema_check_add(t, i > 0 ? ", '" : "'", 3);
                schema_check_add(t, words[i], NAME_MAX_BYTES);
                schema_check_add(t, "'", 1);
        }
}

static bool bounded(const struct field *field)
{
        return field->min != 0 || field->max != 0;
}

static bool has_max(const struct field *field)
{
        return bounded(field) && field->max >= field->min;
}

static bool in_range(const struct field *field, int64_t value)
{
        return !bounded(field) || (value >= field->min && (!has_max(field) || value <= field->max));
}

/* Adds the length limits after the type: " from 1 to 5 bytes", " of at most 3 items". */
static void add_lengths(struct text *t, const struct field *field, const char *things)
{
        char range[96];
        if (!bounded(field))
                return;
        if (!has_max(field))
                snprintf(range, sizeof range, " of at least %lld %s", (long long)field->min, things);
        else if (field->min == 0)
                snprintf(range, sizeof range, " of at most %lld %s", (long long)field->max, things);
        else if (field->min == field->max)
                snprintf(range, sizeof range, " of %lld %s", (long long)field->min, things);
        else
                snprintf(range, sizeof range, " of %lld to %lld %s", (long long)field->min,
                         (long long)field->max, things);
        schema_check_add(t, range, sizeof range);
}

static void add_thousandths(struct text *t, int64_t value)
{
        char digits[32];
        snprintf(digits, sizeof digits, "%.10g", (double)value / 1000);
        schema_check_add(t, digits, sizeof digits);
}

static void add_range(struct text *t, const struct field *field)
{
        char range[96];
        if (!bounded(field))
                return;
        if (field->type == FIELD_NUMBER) {
                schema_check_add(t, has_max(field) ? " from " : " of at least ", 16);
                add_thousandths(t, field->min);
                if (has_max(field)) {
                        schema_check_add(t, " to ", 4);
                        add_thousandths(t, field->max);
                }
                return;
        }
        if (has_max(field))
                snprintf(range, sizeof range, " from %lld to %lld", (long long)field->min,
                         (long long)field->max);
        else
                snprintf(range, sizeof range, " of at least %lld", (long long)field->min);
        schema_check_add(t, range, sizeof range);
}

/* Adds a description of the allowed values. */
static void add_kind(struct text *t, const struct field *field)
{
        switch (field->type) {
        case FIELD_STRING:
                schema_check_add(t, "a string", 16);
                add_lengths(t, field, "bytes");
                break;
        case FIELD_INTEGER:
                schema_check_add(t, "an integer", 16);
                add_range(t, field);
                break;
        case FIELD_NUMBER:
                schema_check_add(t, "a number", 16);
                add_range(t, field);
                break;
        case FIELD_BOOLEAN:
                schema_check_add(t, "true or false", 16);
                break;
        case FIELD_WORD:
                schema_check_add(t, "one of ", 16);
                add_words(t, field->words);
                break;
        case FIELD_OBJECT:
                schema_check_add(t, "an object", 16);
                break;
        case FIELD_MAP:
                schema_check_add(t, "an object", 16);
                add_lengths(t, field, "entries");
                break;
        case FIELD_ARRAY:
                schema_check_add(t, "an array", 16);
                add_lengths(t, field, "items");
                if (field->words) {
                        schema_check_add(t, " or ", 8);
                        add_words(t, field->words);
                }
                break;
        case FIELD_ANY:
                schema_check_add(t, "a value", 16);
                break;
        }
        if (field->flags & FIELD_NULLABLE)
                schema_check_add(t, " or null", 16);
}

static int schema_check_refuse(const struct field *field, const struct place *place, struct cella_err *err)
{
        struct text path, kind = {.len = 0};
        add_kind(&kind, field);
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be %s", path_of(place, &path),
                       kind.data);
}

static int refuse_depth(const struct place *place, struct cella_err *err)
{
        struct text path;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is nested deeper than %d levels",
                       path_of(place, &path), SCHEMA_DEPTH_MAX);
}

static int refuse_unknown(const struct field *fields, const char *name, const struct place *place,
                          struct cella_err *err)
{
        struct text shown = {.len = 0}, path, known = {.len = 0};
        size_t n = 0;
        schema_check_add(&shown, name, NAME_MAX_BYTES);
        if (place && place->depth > 0)
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "unknown field '%s' in %s", shown.data,
                        path_of(place, &path));
        else
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "unknown field '%s'", shown.data);
        while (fields[n].name)
                n++;
        const char *nearest = parse_nearest(name, &fields->name, n, sizeof *fields);
        if (nearest) {
                err_hint(err, "did you mean '%s'?", nearest);
                return -EINVAL;
        }
        for (size_t i = 0; i < n; i++) {
                if (known.len + strlen(fields[i].name) + 2 > LIST_MAX_BYTES) {
                        schema_check_add(&known, ", ...", 5);
                        break;
                }
                schema_check_add(&known, i > 0 ? ", " : "", 2);
                schema_check_add(&known, fields[i].name, NAME_MAX_BYTES);
        }
        err_hint(err, "fields that it may have: %s", n > 0 ? known.data : "none");
        return -EINVAL;
}

static int check_value(const struct field *field, const json_t *value, const struct place *place,
                       struct cella_err *err);

static const struct field *schema_check_find(const struct field *fields, const char *name)
{
        for (; fields->name; fields++)
                if (strcmp(fields->name, name) == 0)
                        return fields;
        return NULL;
}

static int check_object(const struct field *fields, const json_t *object, const struct place *place,
                        struct cella_err *err)
{
        struct text path;
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)object, name, value) {
                const struct field *field = schema_check_find(fields, name);
                if (!field)
                        return refuse_unknown(fields, name, place, err);
                struct place below = {.up = place, .name = name, .depth = place->depth + 1};
                int r = check_value(field, value, &below, err);
                if (r < 0)
                        return r;
        }
        for (const struct field *field = fields; field->name; field++) {
                if (!(field->flags & FIELD_REQUIRED) || json_object_get(object, field->name))
                        continue;
                struct place below = {.up = place, .name = field->name, .depth = place->depth + 1};
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is required", path_of(&below, &path));
        }
        return 0;
}

static int check_array(const struct field *field, const json_t *array, const struct place *place,
                       struct cella_err *err)
{
        for (size_t i = 0; field->item && i < json_array_size(array); i++) {
                struct place below = {.up = place, .index = i, .depth = place->depth + 1};
                int r = check_value(field->item, json_array_get(array, i), &below, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_map(const struct field *field, const json_t *map, const struct place *place,
                     struct cella_err *err)
{
        const char *name;
        json_t *value;
        if (!field->item)
                return 0;
        json_object_foreach ((json_t *)map, name, value) {
                /* An empty name is shown as ''. */
                struct place below = {.up = place, .name = *name ? name : "''", .depth = place->depth + 1};
                int r = check_value(field->item, value, &below, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* FIELD_ANY: limits the depth, because other code will walk through the value. */
static int check_depth(const json_t *value, const struct place *place, unsigned depth, struct cella_err *err)
{
        const char *name;
        json_t *below;
        size_t i;
        int r = 0;
        if (!json_is_object(value) && !json_is_array(value))
                return 0;
        if (depth >= SCHEMA_DEPTH_MAX)
                return refuse_depth(place, err);
        json_object_foreach ((json_t *)value, name, below) {
                r = check_depth(below, place, depth + 1, err);
                if (r < 0)
                        return r;
        }
        json_array_foreach (value, i, below) {
                r = check_depth(below, place, depth + 1, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_string(const struct field *field, const json_t *value, const struct place *place,
                        struct cella_err *err)
{
        struct text path;
        size_t len = json_string_length(value);
        if (!in_range(field, (int64_t)len))
                return schema_check_refuse(field, place, err);
        if ((field->flags & FIELD_NO_NUL) && memchr(json_string_value(value), '\0', len))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must not contain a NUL character",
                               path_of(place, &path));
        return 0;
}

static int check_word(const struct field *field, const json_t *value, const struct place *place,
                      struct cella_err *err)
{
        const char *typed = json_string_value(value);
        size_t n = 0;
        for (; field->words[n]; n++)
                if (strlen(field->words[n]) == json_string_length(value) &&
                    memcmp(field->words[n], typed, json_string_length(value)) == 0)
                        return 0;
        schema_check_refuse(field, place, err);
        const char *nearest = parse_nearest(typed, field->words, n, sizeof *field->words);
        if (nearest)
                err_hint(err, "did you mean '%s'?", nearest);
        return -EINVAL;
}

static bool number_in_range(const struct field *field, const json_t *value)
{
        double number = json_number_value(value);
        return !bounded(field) || (number >= (double)field->min / 1000 &&
                                   (!has_max(field) || number <= (double)field->max / 1000));
}

static bool right_type(const struct field *field, const json_t *value)
{
        switch (field->type) {
        case FIELD_STRING:
        case FIELD_WORD:
                return json_is_string(value);
        case FIELD_INTEGER:
                return json_is_integer(value);
        case FIELD_NUMBER:
                return json_is_number(value);
        case FIELD_BOOLEAN:
                return json_is_boolean(value);
        case FIELD_OBJECT:
        case FIELD_MAP:
                return json_is_object(value);
        case FIELD_ARRAY:
                return json_is_array(value) || (field->words && json_is_string(value));
        case FIELD_ANY:
                return true;
        }
        return false;
}

static int check_content(const struct field *field, const json_t *value, const struct place *place,
                         struct cella_err *err)
{
        switch (field->type) {
        case FIELD_STRING:
                return check_string(field, value, place, err);
        case FIELD_WORD:
                return check_word(field, value, place, err);
        case FIELD_INTEGER:
                return in_range(field, json_integer_value(value)) ? 0
                                                                  : schema_check_refuse(field, place, err);
        case FIELD_NUMBER:
                return number_in_range(field, value) ? 0 : schema_check_refuse(field, place, err);
        case FIELD_OBJECT:
                return check_object(field->fields, value, place, err);
        case FIELD_MAP:
                if (!in_range(field, (int64_t)json_object_size(value)))
                        return schema_check_refuse(field, place, err);
                return check_map(field, value, place, err);
        case FIELD_ARRAY:
                if (json_is_string(value))
                        return check_word(field, value, place, err);
                if (!in_range(field, (int64_t)json_array_size(value)))
                        return schema_check_refuse(field, place, err);
                return check_array(field, value, place, err);
        case FIELD_ANY:
                return check_depth(value, place, place->depth, err);
        case FIELD_BOOLEAN:
                break;
        }
        return 0;
}

static int check_value(const struct field *field, const json_t *value, const struct place *place,
                       struct cella_err *err)
{
        struct text path;
        int r;
        if (json_is_null(value) && (field->flags & FIELD_NULLABLE))
                return 0;
        if (!right_type(field, value))
                return schema_check_refuse(field, place, err);
        if (place->depth > SCHEMA_DEPTH_MAX) /* the table is recursive */
                return refuse_depth(place, err);
        r = check_content(field, value, place, err);
        if (r < 0)
                return r;
        return field->check ? field->check(value, path_of(place, &path), err) : 0;
}

int schema_check(const struct field *fields, const json_t *document, const char *path, struct cella_err *err)
{
        /* A path given by the caller counts as a level, so that unknown fields are reported as being in it.
         */
        struct place top = {.name = path, .depth = *path ? 1 : 0};
        if (!json_is_object(document))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be %s",
                               *path ? path : "the body", *path ? "an object" : "a JSON object");
        return check_object(fields, document, &top, err);
}

json_t *schema_load(const char *text, size_t len, json_error_t *ret_error)
{
        return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, ret_error);
}

int schema_parse(const struct field *fields, const char *text, size_t len, json_t **ret,
                 struct cella_err *err)
{
        json_error_t error;
        int r;
        json_t *document = len == 0 ? json_object() : schema_load(text, len, &error);
        if (!document && (len == 0 || json_error_code(&error) == json_error_out_of_memory))
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot read the body");
        if (!document)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "the body is not valid JSON: line %d, column %d: %s", error.line, error.column,
                               error.text);
        r = fields ? schema_check(fields, document, "", err) : 0;
        if (r < 0) {
                json_decref(document);
                return r;
        }
        *ret = document;
        return 0;
}
