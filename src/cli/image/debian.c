#include "cli/image/debian.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"

#define PACKAGES_BYTES_MAX 16384
#define PATH_STANDARD "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* ---- command line ---- */

static int find_program(const char *name, char *ret, size_t size)
{
        const char *path = getenv("PATH");
        for (const char *at = path && *path ? path : PATH_STANDARD; *at;) {
                size_t len = strcspn(at, ":");
                if (len > 0 && at[0] == '/' &&
                    (size_t)snprintf(ret, size, "%.*s/%s", (int)len, at, name) < size &&
                    access(ret, X_OK) == 0)
                        return 0;
                at += len + (at[len] == ':');
        }
        return -ENOENT;
}

/* Returns whether the name follows Debian's policy: two characters or more, a letter or digit first. */
static bool is_package(const char *text, size_t len)
{
        return len >= 2 && len < 80 && strchr(LOWER DIGITS, text[0]) &&
               strspn(text, LOWER DIGITS "+-.") >= len;
}

static int check_packages(const char *list, struct cella_err *err)
{
        if (strlen(list) > PACKAGES_BYTES_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "--packages is too long");
        for (const char *at = list;; at++) {
                size_t len = strcspn(at, ",");
                if (!is_package(at, len)) {
                        err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                "--packages: '%.*s' is not the name of a package", (int)(len < 60 ? len : 60),
                                at);
                        return err_hint(err, "names in lower case, with commas between them: python3,curl");
                }
                at += len;
                if (!*at)
                        return 0;
        }
}

static int check_suite(const char *suite, struct cella_err *err)
{
        size_t len = strlen(suite);
        if (len >= 2 && len < 40 && strchr(LOWER, suite[0]) && strspn(suite, LOWER DIGITS "-") == len)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--debian takes the name of a release, not '%.60s'",
                suite);
        return err_hint(err, "bookworm, trixie, forky, sid");
}

/* mmdebstrap would also accept lines of a sources.list and files here. */
static int check_mirror(const char *url, struct cella_err *err)
{
        static const char good[] = LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "-._~:/@%+=,";
        static const char *const schemes[] = {"http://", "https://", "file:///"};
        for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
                if (!strncmp(url, schemes[i], strlen(schemes[i])) && strlen(url) > strlen(schemes[i]) &&
                    strlen(url) < 512 && url[strspn(url, good)] == '\0')
                        return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "--mirror takes a URL like " DEBIAN_MIRROR ", not '%.80s'", url);
}

static char *debian_variable(const char *name)
{
        extern char **environ;
        size_t len = strlen(name);
        for (char **at = environ; at && *at; at++)
                if (!strncmp(*at, name, len) && (*at)[len] == '=')
                        return *at;
        return NULL;
}

/* Passes only the variables that mmdebstrap needs. */
static void choose_environment(struct debian *d)
{
        static const char *const taken[] = {"HOME",       "TMPDIR",      "http_proxy", "https_proxy",
                                            "HTTP_PROXY", "HTTPS_PROXY", "no_proxy",   "NO_PROXY"};
        size_t n = 0;
        d->env[n++] = "PATH=" PATH_STANDARD;
        d->env[n++] = "LC_ALL=C.UTF-8";
        for (size_t i = 0; i < ARRAY_LEN(taken); i++)
                if ((d->env[n] = debian_variable(taken[i])))
                        n++;
        d->env[n] = NULL;
}

/* Returns OPTION=VALUE, which the caller frees. */
static int make_option(const char *option, const char *value, char **ret, struct cella_err *err)
{
        return asprintf(ret, "%s=%s", option, value) < 0 ? err_set(err, CELLA_INTERNAL, -ENOMEM, "mmdebstrap")
                                                         : 0;
}

int debian_init(struct debian *ret, const struct recipe *recipe, struct cella_err *err)
{
        struct debian d = {.suite = recipe->suite, .mirror = recipe->mirror};
        const char *packages = recipe->packages;
        size_t n = 0;
        int r;
        if ((r = check_suite(d.suite, err)) < 0 || (*packages && (r = check_packages(packages, err)) < 0) ||
            (r = check_mirror(d.mirror, err)) < 0)
                return r;
        if (find_program("mmdebstrap", d.program, sizeof d.program) < 0) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT, "mmdebstrap is not installed");
                return err_hint(err, "apt-get install mmdebstrap");
        }
        r = make_option("--include", packages, &d.include, err);
        if (r == 0 && recipe->components)
                r = make_option("--components", recipe->components, &d.components, err);
        if (r < 0) {
                debian_done(&d);
                return r;
        }
        choose_environment(&d);
        *ret = d;
        ret->argv[n++] = "mmdebstrap";
        ret->argv[n++] = "--variant=minbase";
        ret->argv[n++] = geteuid() == 0 ? "--mode=root" : "--mode=auto";
        ret->argv[n++] = "--format=tar";
        if (ret->components)
                ret->argv[n++] = ret->components;
        if (*packages)
                ret->argv[n++] = ret->include;
        ret->argv[n++] = (char *)ret->suite;
        ret->argv[n++] = "-";
        ret->argv[n++] = (char *)ret->mirror;
        ret->argv[n] = NULL;
        return 0;
}

void debian_done(struct debian *d)
{
        free(d->include);
        free(d->components);
        d->include = d->components = NULL;
}

/* ---- its output ---- */

static const struct {
        const char *said, *means;
} steps[] = {
        {"I: running apt-get update", "reading the lists of packages"},
        {"I: downloading packages", "downloading packages"},
        {"I: extracting archives", "extracting packages"},
        {"I: installing essential packages", "installing the minimal system"},
        {"I: installing remaining packages", "installing the other packages"},
        {"I: cleaning package lists", "cleaning up"},
        {"I: creating tarball", "packing"},
};

int debian_steps(void)
{
        return (int)ARRAY_LEN(steps);
}

const char *debian_step(int step)
{
        return step > 0 && step <= debian_steps() ? steps[step - 1].means : "";
}

/* Copies the word that follows the given text. */
static void take_word(const char *line, const char *before, char *ret, size_t size)
{
        const char *at = strstr(line, before);
        if (!at || *ret)
                return;
        at += strlen(before);
        at += strspn(at, " '\"");
        snprintf(ret, size, "%.*s", (int)strcspn(at, " '\""), at);
}

static bool debian_says(const char *line, const char *const *texts)
{
        for (; *texts; texts++)
                if (strstr(line, *texts))
                        return true;
        return false;
}

int debian_receive(struct debian *d, const char *line)
{
        static const char *const unreachable[] = {"Could not resolve",      "Temporary failure resolving",
                                                  "Could not connect",      "Connection refused",
                                                  "Connection timed out",   "Unable to connect",
                                                  "Network is unreachable", NULL};
        static const char *const no_suite[] = {"does not have a Release file", "404  Not Found [", NULL};
        static const char *const no_key[] = {"NO_PUBKEY", "is not signed", "signatures couldn't be verified",
                                             NULL};
        static const char *const no_mode[] = {"unable to pick chroot mode",
                                              "unable to use unshare",
                                              "invalid mode",
                                              "unshare(",
                                              "newuidmap",
                                              "/etc/subuid",
                                              NULL};
        for (int i = 0; i < debian_steps(); i++)
                if (!strncmp(line, steps[i].said, strlen(steps[i].said)))
                        return d->step = i + 1;
        if (!strncmp(line, "I: ", 3))
                return 0;
        take_word(line, "Unable to locate package", d->package, sizeof d->package);
        if (strstr(line, "has no installation candidate"))
                take_word(line, "Package", d->package, sizeof d->package);
        d->unreachable |= debian_says(line, unreachable);
        d->no_suite |= debian_says(line, no_suite);
        d->no_key |= debian_says(line, no_key);
        d->no_mode |= debian_says(line, no_mode);
        if (!d->problem[0] && !strncmp(line, "E: ", 3))
                snprintf(d->problem, sizeof d->problem, "%.180s", line + 3);
        return 0;
}

int debian_explain(const struct debian *d, int status, struct cella_err *err)
{
        if (d->package[0]) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT, "there is no package '%s' in Debian %s", d->package,
                        d->suite);
                return err_hint(err, "https://packages.debian.org lists them");
        }
        if (d->unreachable) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -EHOSTUNREACH, "the mirror %.120s cannot be reached",
                        d->mirror);
                return err_hint(err, "--mirror names another; http_proxy is used if it is set");
        }
        if (d->no_suite)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "the mirror %.120s has no Debian '%s'",
                               d->mirror, d->suite);
        if (d->no_key) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOKEY, "the signatures of %.120s cannot be checked",
                        d->mirror);
                return strstr(d->mirror, "ubuntu")
                               ? err_hint(err,
                                          "apt-get install ubuntu-keyring; Debian 12 has no such package, "
                                          "use https://packages.debian.org/trixie/ubuntu-keyring")
                               : err_hint(err, "apt-get install debian-archive-keyring");
        }
        if (d->no_mode) {
                err_say(err, CELLA_ISOLATION_UNAVAILABLE, -EPERM,
                        "mmdebstrap cannot work as this user: %.120s", d->problem);
                return err_hint(err, "as root; or apt-get install uidmap, and a line for the user in "
                                     "/etc/subuid and /etc/subgid");
        }
        if (d->problem[0])
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO, "mmdebstrap: %s", d->problem);
        return WIFSIGNALED(status) ? err_say(err, CELLA_ENGINE_UNAVAILABLE, -EINTR,
                                             "mmdebstrap was killed by signal %d", WTERMSIG(status))
                                   : err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO,
                                             "mmdebstrap ended with status %d", WEXITSTATUS(status));
}
