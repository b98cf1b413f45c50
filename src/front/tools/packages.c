/* front/tools/packages.c -- packages of execute_python: a run of our own code in the context installs those
 * that are missing, before the code of the caller is run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "front/tools/internal.h"

/* The name is put into Python code and passed to pip: only a name with a version is allowed, never an option
 * or a path. */
static int check_package(const json_t *value, const char *path, struct cella_err *err)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        const char *name = json_string_value(value);
        size_t plain = strspn(name, letters), len = strlen(name);
        char all[sizeof letters + 16];
        snprintf(all, sizeof all, "%s._-[]=<>!~, ", letters);
        return plain > 0 && strspn(name, all) == len
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "%s must be the name of a package, with or without a version", path);
}

const struct field package_item = {.name = "",
                                   .type = FIELD_STRING,
                                   .flags = FIELD_NO_NUL,
                                   .min = 1,
                                   .max = 100,
                                   .check = check_package};

/* Finds packages by the names of their distributions, which may differ from those of their modules.  A file
 * contains the version that was installed for a requirement ("six<2"), so that pip, which takes half a
 * second, is not run again for it.  A sandbox with its own configuration of pip may use another index, which
 * may have other packages of the same names: its packages are installed without the cache. */
static const char code_format[] =
        "def _cella_packages(names, step, index, wheels):\n"
        "    import importlib, importlib.metadata, json, os, re, shutil, site, subprocess, sys, "
        "urllib.parse\n"
        "    def pip(*words):\n"
        "        return subprocess.run([sys.executable or 'python3', '-m', 'pip', *words, '--quiet',\n"
        "                               '--disable-pip-version-check', '--no-input', '--retries', '0'\n"
        "                               ]).returncode == 0\n"
        "    source = ['--index-url', index, '--trusted-host',\n"
        "              urllib.parse.urlsplit(index).hostname] if index else []\n"
        "    if step == 'fetch':\n"
        "        sys.exit(not pip('wheel', '-w', wheels, *source, *names))\n"
        "    note = os.path.join(site.getuserbase(), 'share', 'cella', 'packages.json')\n"
        "    def plain(name):\n"
        "        return re.match(r'[A-Za-z0-9._-]+', name).group()\n"
        "    def version(name):\n"
        "        path = [site.getusersitepackages(), *sys.path]\n"
        "        for found in importlib.metadata.distributions(name=plain(name), path=path):\n"
        "            return found.version\n"
        "    try:\n"
        "        with open(note) as file:\n"
        "            noted = dict(json.load(file))\n"
        "    except (OSError, ValueError, TypeError):\n"
        "        noted = {}\n"
        "    def is_there(name):\n"
        "        have = version(name)\n"
        "        return bool(have) and (plain(name) == name or noted.get(name) == have)\n"
        "    missing = [n for n in names if not is_there(n)]\n"
        "    # Root would install into the image, which ends with the sandbox.\n"
        "    user = ['--user'] if 'PYTHONUSERBASE' in os.environ and sys.prefix == sys.base_prefix else []\n"
        "    if not missing:\n"
        "        return\n"
        "    files = ['~/.pip/pip.conf', os.path.join(os.environ.get('XDG_CONFIG_HOME') or '~/.config',\n"
        "                                             'pip', 'pip.conf')]\n"
        "    own = (any(os.path.lexists(os.path.expanduser(f)) for f in files) or\n"
        "           any(n.startswith('PIP_') and n not in ('PIP_BREAK_SYSTEM_PACKAGES',\n"
        "               'PIP_DISABLE_PIP_VERSION_CHECK') for n in os.environ))\n"
        "    if step == 'check':\n"
        "        print('own' if own else 'missing')\n"
        "        return\n"
        "    done = (step == 'unpacked' and pip('install', *user, '--no-index', '--find-links', wheels, "
        "*missing) or\n"
        "            pip('install', *user, *([] if own else source), *missing))\n"
        "    shutil.rmtree(wheels, ignore_errors=True)\n"
        "    if not done:\n"
        "        sys.exit(1)\n"
        "    importlib.invalidate_caches()\n"
        "    noted.update((n, version(n)) for n in missing)\n"
        "    try:\n"
        "        os.makedirs(os.path.dirname(note), exist_ok=True)\n"
        "        with open(note + '.new', 'w') as file:\n"
        "            json.dump(noted, file)\n"
        "        os.replace(note + '.new', note)\n"
        "    except OSError:\n"
        "        pass\n"
        "_cella_packages(*%s)\n"
        "del _cella_packages\n";

json_t *packages_code(json_t *packages, const char *step, const char *index, const char *wheels)
{
        json_t *arguments = json_pack("[O, s, s, s]", packages, step, index ? index : "", wheels);
        char *text = arguments ? json_dumps(arguments, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
        json_t *code = text ? json_sprintf(code_format, text) : NULL;
        json_decref(arguments);
        free(text);
        return code;
}

/* The last line of pip's output contains the reason. */
void packages_explain(const struct cella_result *r, struct cella_err *err)
{
        const char *said = r->output[CELLA_STDERR];
        size_t len = r->output_len[CELLA_STDERR], at;
        while (len > 0 && said[len - 1] == '\n')
                len--;
        for (at = len; at > 0 && said[at - 1] != '\n'; at--)
                continue;
        err_say(err, CELLA_INVALID_REQUEST, -ENOENT, "the packages could not be installed%s%.*s",
                len > at ? ": " : "", (int)(len - at < 120 ? len - at : 120), len > at ? said + at : "");
        for (char *c = err->msg; *c; c++)
                if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
                        *c = '?';
        if (strstr(err->msg, "No module named pip"))
                err_hint(err, "apt-get install python3-pip, or use an image that has pip");
        else
                err_hint(err, "packages that are installed need no network; the others need one that allows "
                              "the index (network.allowed_domains: pypi.org, files.pythonhosted.org)");
}
