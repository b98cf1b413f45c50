/* test/fuzz/settings.c -- settings as PUT and PATCH take them: what is taken can be used, and is
 * taken again when it comes back as it was answered. */
#include "core/settings/settings.h"
#include "core/network.h"
#include "egress/policy/policy.h"
#include "fuzz.h"

/* The egress process must accept the resulting policy. */
static void use_network(const struct settings *settings)
{
        const struct network network = {.tier = TIER_ELEVATED};
        struct egress_attach *message = NULL;
        struct policy *policy = NULL;
        size_t len = 0;
        if (network_message(settings, &network, EGRESS_ATTACH, 1, &message, &len) < 0 ||
            policy_get(message, len, &policy) < 0)
                abort();
        policy_drop(policy);
        free(message);
}

static void use(json_t *document)
{
        struct cella_err err = {0};
        struct settings settings;
        json_t *filled = schema_fill(settings_fields(), document);
        if (!filled)
                abort();
        if (schema_check(settings_fields(), filled, "", &err) < 0)
                abort();
        if (settings_from(filled, &settings, &err) == 0) {
                use_network(&settings);
                settings_done(&settings);
        } else {
                json_decref(filled);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cella_err err = {0};
        json_t *body = NULL, *none = json_object();
        char *text = malloc(size + 1);
        memcpy(text, data, size);
        text[size] = '\0';
        if (schema_parse(settings_fields(), text, size, &body, &err) == 0) {
                json_t *merged = schema_merge(none, body);
                if (merged)
                        use(merged);
                json_decref(merged);
                json_decref(body);
        }
        json_decref(none);
        free(text);
        return 0;
}
