/* http/router.c -- see router.h.
 *
 * A node has children by name, and at most one for {}.  The search tries the name first and then {}:
 * patterns have few segments, so this needs few comparisons. */
#include "http/router.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"

#define METHODS (HTTP_DELETE + 1)

struct node {
        char *name; /* NULL: {} */
        size_t name_len;
        struct node *children, *next;
        struct node *any; /* child for {} */
        const struct http_route *routes[METHODS];
};

struct router {
        struct node root;
};

static void nodes_free(struct node *node)
{
        while (node != NULL) {
                struct node *next = node->next;

                nodes_free(node->children);
                nodes_free(node->any);
                free(node->name);
                free(node);
                node = next;
        }
}

struct router *router_free(struct router *router)
{
        if (router == NULL)
                return NULL;
        nodes_free(router->root.children);
        nodes_free(router->root.any);
        free(router);
        return NULL;
}
DEFINE_AUTO(struct router *, router_free)

static struct node *child_get(struct node *node, const char *name, size_t len)
{
        bool any = len > 0 && name[0] == '{';
        struct node *child = any ? node->any : node->children;

        for (; child != NULL && !any; child = child->next)
                if (child->name_len == len && memcmp(child->name, name, len) == 0)
                        break;
        if (child != NULL)
                return child;

        child = calloc(1, sizeof(*child));
        if (child == NULL)
                return NULL;
        if (any) {
                node->any = child;
                return child;
        }
        child->name = strndup(name, len);
        if (child->name == NULL) {
                free(child);
                return NULL;
        }
        child->name_len = len;
        child->next = node->children;
        node->children = child;
        return child;
}

static int add_route(struct router *router, const struct http_route *route, struct cella_err *err)
{
        struct node *node = &router->root;
        const char *at = route->pattern;
        unsigned segments = 0, params = 0;

        if (*at != '/')
                return err_say(err, CELLA_INTERNAL, -EINVAL, "route '%s' does not start with /",
                               route->pattern);
        while (*at == '/') {
                size_t len = strcspn(++at, "/");

                params += *at == '{';
                if (++segments > ROUTER_SEGMENTS_MAX || params > HTTP_PARAMS_MAX)
                        return err_say(err, CELLA_INTERNAL, -EINVAL, "route '%s' is too long",
                                       route->pattern);
                node = child_get(node, at, len);
                if (node == NULL)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot make the routes");
                at += len;
        }
        if (node->routes[route->method] != NULL)
                return err_say(err, CELLA_INTERNAL, -EINVAL, "route '%s' is there twice", route->pattern);
        node->routes[route->method] = route;
        return 0;
}

int router_new(const struct http_route *routes, size_t n_routes, struct router **ret, struct cella_err *err)
{
        AUTO(router_free) struct router *router = calloc(1, sizeof(*router));

        if (router == NULL)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot make the routes");
        for (size_t i = 0; i < n_routes; i++) {
                int r = add_route(router, &routes[i], err);
                if (r < 0)
                        return r;
        }
        *ret = TAKE(router);
        return 0;
}

struct search {
        const char *const *segments;
        unsigned n_segments;
        enum http_method method;
        unsigned allowed;
        const char *params[HTTP_PARAMS_MAX];
};

static const struct http_route *search_from(const struct node *node, struct search *search, unsigned depth,
                                            unsigned n_params)
{
        const char *segment;
        size_t len;

        if (depth == search->n_segments) {
                for (unsigned i = 0; i < METHODS; i++)
                        if (node->routes[i] != NULL)
                                search->allowed |= 1u << i;
                while (n_params < HTTP_PARAMS_MAX) /* clears parameters of an abandoned branch */
                        search->params[n_params++] = NULL;
                return node->routes[search->method];
        }
        segment = search->segments[depth];
        len = strlen(segment);
        for (const struct node *child = node->children; child != NULL; child = child->next) {
                const struct http_route *route;

                if (child->name_len != len || memcmp(child->name, segment, len) != 0)
                        continue;
                route = search_from(child, search, depth + 1, n_params);
                if (route != NULL)
                        return route;
                break;
        }
        if (node->any == NULL || len == 0)
                return NULL;
        search->params[n_params] = segment;
        return search_from(node->any, search, depth + 1, n_params + 1);
}

const struct http_route *router_find(const struct router *router, const char *const *segments,
                                     unsigned n_segments, enum http_method method,
                                     const char *params[HTTP_PARAMS_MAX], unsigned *ret_allowed)
{
        struct search search = {.segments = segments, .n_segments = n_segments, .method = method};
        const struct http_route *route;

        if ((unsigned)method >= METHODS)
                return NULL;
        route = search_from(&router->root, &search, 0, 0);
        *ret_allowed = search.allowed;
        if (route != NULL)
                memcpy(params, search.params, sizeof(search.params));
        return route;
}
