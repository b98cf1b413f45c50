/* schema/describe.c -- the defaults and the JSON Schema of a table. */
#include <string.h>

#include "schema/schema.h"

static json_t *words_of(const struct field *field)
{
        json_t *list = json_array();
        for (size_t i = 0; field->words[i]; i++)
                json_array_append_new(list, json_stringn(field->words[i], strlen(field->words[i])));
        if (field->flags & FIELD_NULLABLE)
                json_array_append_new(list, json_pack("n"));
        return list;
}

static const char *type_of(const struct field *field)
{
        switch (field->type) {
        case FIELD_STRING:
        case FIELD_WORD:
                return "string";
        case FIELD_INTEGER:
                return "integer";
        case FIELD_NUMBER:
                return "number";
        case FIELD_BOOLEAN:
                return "boolean";
        case FIELD_OBJECT:
        case FIELD_MAP:
                return "object";
        case FIELD_ARRAY:
                return "array";
        case FIELD_ANY:
                break;
        }
        return NULL;
}

static void put_lengths(json_t *schema, const struct field *field, const char *min, const char *max)
{
        if (field->min > 0)
                json_object_set_new(schema, min, json_integer(field->min));
        if (field->max > 0 && field->max >= field->min)
                json_object_set_new(schema, max, json_integer(field->max));
}

static void put_range(json_t *schema, const struct field *field)
{
        if (field->min == 0 && field->max == 0)
                return;
        bool whole = field->type == FIELD_INTEGER;
        json_object_set_new(schema, "minimum",
                            whole ? json_integer(field->min) : json_pack("f", (double)field->min / 1000));
        if (field->max >= field->min)
                json_object_set_new(schema, "maximum",
                                    whole ? json_integer(field->max)
                                          : json_pack("f", (double)field->max / 1000));
}

/* How deep a table is in the document, and which tables are described elsewhere. */
struct level {
        unsigned depth;
        schema_namer *name_of; /* NULL: none */
};

static struct level level_below(struct level at)
{
        at.depth++;
        return at;
}

static json_t *describe_field(const struct field *field, struct level at);

static void describe_fields(json_t *schema, const struct field *fields, struct level at)
{
        json_t *properties = json_object(), *required = json_array();
        for (; fields->name; fields++) {
                json_object_set_new(properties, fields->name, describe_field(fields, level_below(at)));
                if (fields->flags & FIELD_REQUIRED)
                        json_array_append_new(required, json_stringn(fields->name, strlen(fields->name)));
        }
        json_object_set_new(schema, "properties", properties);
        if (json_array_size(required) > 0)
                json_object_set(schema, "required", required);
        json_decref(required);
        json_object_set_new(schema, "additionalProperties", json_pack("b", 0));
}

static void describe_content(json_t *schema, const struct field *field, struct level at)
{
        switch (field->type) {
        case FIELD_STRING:
                /* JSON Schema counts characters, which have up to four bytes. */
                if (field->min > 0)
                        json_object_set_new(schema, "minLength", json_integer((field->min + 3) / 4));
                if (field->max > 0 && field->max >= field->min)
                        json_object_set_new(schema, "maxLength", json_integer(field->max));
                if (field->flags & FIELD_NO_NUL)
                        json_object_set_new(schema, "pattern", json_pack("s", "^[^\\u0000]*$"));
                break;
        case FIELD_WORD:
                json_object_set_new(schema, "enum", words_of(field));
                break;
        case FIELD_INTEGER:
        case FIELD_NUMBER:
                put_range(schema, field);
                break;
        case FIELD_OBJECT:
                describe_fields(schema, field->fields, at);
                break;
        case FIELD_MAP:
                put_lengths(schema, field, "minProperties", "maxProperties");
                if (field->item)
                        json_object_set_new(schema, "additionalProperties",
                                            describe_field(field->item, level_below(at)));
                break;
        case FIELD_ARRAY:
                put_lengths(schema, field, "minItems", "maxItems");
                if (field->item)
                        json_object_set_new(schema, "items", describe_field(field->item, level_below(at)));
                break;
        case FIELD_BOOLEAN:
        case FIELD_ANY:
                break;
        }
}

static json_t *standard_of(const struct field *field)
{
        return field->standard ? json_loads(field->standard, JSON_DECODE_ANY, NULL) : NULL;
}

/* An array, or a word instead of it. */
static json_t *describe_words_or_array(const struct field *field, struct level at)
{
        const struct field word = {.type = FIELD_WORD, .words = field->words}, array = {.type = FIELD_ARRAY,
                                                                                        .item = field->item,
                                                                                        .min = field->min,
                                                                                        .max = field->max};
        return json_pack("[oo]", describe_field(&word, at), describe_field(&array, at));
}

/* {"$ref": ...} for an object whose table is described elsewhere, otherwise NULL. */
static json_t *reference(const struct field *field, struct level at)
{
        const char *name =
                at.name_of && field->type == FIELD_OBJECT && field->fields ? at.name_of(field->fields) : NULL;
        json_t *ref = name ? json_object() : NULL;
        if (!ref)
                return NULL;
        json_object_set_new(ref, "$ref", json_sprintf("#/components/schemas/%s", name));
        if (field->flags & FIELD_NULLABLE)
                ref = json_pack("{s:[o, {s:s}]}", "oneOf", ref, "type", "null");
        if (field->help)
                json_object_set_new(ref, "description", json_pack("s", field->help));
        return ref;
}

static json_t *describe_field(const struct field *field, struct level at)
{
        json_t *schema = reference(field, at);
        if (schema)
                return schema;
        schema = json_object();
        const bool either = field->type == FIELD_ARRAY && field->words;
        const char *type = either ? NULL : type_of(field);
        if (at.depth > SCHEMA_DEPTH_MAX)
                return schema;
        if (type && (field->flags & FIELD_NULLABLE))
                json_object_set_new(schema, "type", json_pack("[ss]", type, "null"));
        else if (type)
                json_object_set_new(schema, "type", json_pack("s", type));
        if (field->title)
                json_object_set_new(schema, "title", json_pack("s", field->title));
        if (field->help)
                json_object_set_new(schema, "description", json_pack("s", field->help));
        if (either)
                json_object_set_new(schema, "oneOf", describe_words_or_array(field, at));
        else
                describe_content(schema, field, at);
        json_t *standard = standard_of(field);
        if (standard)
                json_object_set_new(schema, "default", standard);
        return schema;
}

json_t *schema_describe_shared(const struct field *fields, schema_namer *name_of)
{
        json_t *schema = json_pack("{s:s}", "type", "object");
        describe_fields(schema, fields, (struct level){.name_of = name_of});
        return schema;
}

json_t *schema_describe(const struct field *fields)
{
        return schema_describe_shared(fields, NULL);
}

json_t *schema_describe_value(const struct field *field, schema_namer *name_of)
{
        return describe_field(field, (struct level){.name_of = name_of});
}

static json_t *defaults(const struct field *fields, unsigned depth)
{
        json_t *document = json_object();
        for (; fields->name && depth < SCHEMA_DEPTH_MAX; fields++) {
                json_t *value = standard_of(fields);
                if (!value && fields->type == FIELD_OBJECT) {
                        value = defaults(fields->fields, depth + 1);
                        if (json_object_size(value) == 0) {
                                json_decref(value);
                                continue;
                        }
                }
                if (value)
                        json_object_set_new(document, fields->name, value);
        }
        return document;
}

json_t *schema_defaults(const struct field *fields)
{
        return defaults(fields, 0);
}

static json_t *describe_fill(const struct field *fields, const json_t *document, unsigned depth);

static json_t *fill_value(const struct field *field, const json_t *value, unsigned depth)
{
        if (depth < SCHEMA_DEPTH_MAX && field->type == FIELD_OBJECT && json_is_object(value))
                return describe_fill(field->fields, value, depth + 1);
        if (depth >= SCHEMA_DEPTH_MAX || field->type != FIELD_ARRAY || !field->item || !json_is_array(value))
                return json_deep_copy(value);
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
                json_array_append_new(list, fill_value(field->item, json_array_get(value, i), depth + 1));
        return list;
}

static json_t *describe_fill(const struct field *fields, const json_t *document, unsigned depth)
{
        json_t *filled = defaults(fields, depth);
        const char *name;
        json_t *value;
        json_object_foreach ((json_t *)document, name, value) {
                const struct field *field = fields;
                while (field->name && strcmp(field->name, name) != 0)
                        field++;
                json_object_set_new(filled, name,
                                    field->name ? fill_value(field, value, depth) : json_deep_copy(value));
        }
        return filled;
}

json_t *schema_fill(const struct field *fields, const json_t *document)
{
        return describe_fill(fields, document, 0);
}

static json_t *example(const struct field *fields, unsigned depth);

static json_t *example_of(const struct field *field, unsigned depth)
{
        json_t *standard = standard_of(field);
        if (standard || (field->flags & FIELD_NULLABLE))
                return standard ? standard : json_null();
        switch (field->type) {
        case FIELD_WORD:
                return json_pack("s", field->words[0]);
        case FIELD_STRING:
                return json_pack("s", field->name[0] ? field->name : "text");
        case FIELD_INTEGER:
                return json_integer(field->min);
        case FIELD_NUMBER:
                return json_pack("f", (double)field->min / 1000);
        case FIELD_BOOLEAN:
                return json_pack("b", 0);
        case FIELD_ARRAY:
                return json_array();
        case FIELD_OBJECT:
                return example(field->fields, depth + 1);
        case FIELD_MAP:
        case FIELD_ANY:
                break;
        }
        return json_object();
}

static json_t *example(const struct field *fields, unsigned depth)
{
        json_t *document = json_object();
        for (; fields->name && depth < SCHEMA_DEPTH_MAX; fields++)
                if (fields->flags & FIELD_REQUIRED)
                        json_object_set_new(document, fields->name, example_of(fields, depth));
        return document;
}

json_t *schema_example(const struct field *fields)
{
        return example(fields, 0);
}

json_t *schema_merge(const json_t *base, const json_t *patch)
{
        const char *name;
        json_t *value;
        if (!json_is_object(patch))
                return json_deep_copy(patch);
        json_t *merged = json_is_object(base) ? json_deep_copy(base) : json_object();
        json_object_foreach ((json_t *)patch, name, value) {
                if (json_is_null(value))
                        json_object_del(merged, name);
                else
                        json_object_set_new(merged, name, schema_merge(json_object_get(merged, name), value));
        }
        return merged;
}
