/* scan/python/library.c -- modules of the standard library that others have as attributes: json.codecs.
 *
 * Nearly every module has attributes that are the modules that it has imported. Only modules of the standard
 * library are known: numpy.random is a part of numpy. */
#include <string.h>

#include "scan/python/python.h"

static const char library[] =
        " abc aifc argparse array ast asynchat asyncio asyncore atexit audioop base64 "
        "bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk "
        "cmath cmd code codecs codeop collections colorsys compileall concurrent "
        "configparser contextlib contextvars copy copyreg crypt csv ctypes curses "
        "dataclasses datetime dbm decimal difflib dis distutils doctest email encodings "
        "ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions "
        "ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip "
        "hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io "
        "ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox "
        "mailcap marshal math mimetypes mmap modulefinder multiprocessing netrc nis "
        "nntplib ntpath nturl2path numbers opcode operator optparse os pathlib pdb "
        "pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath "
        "pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue "
        "quopri random re readline reprlib resource rlcompleter runpy sched secrets "
        "select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket "
        "socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat "
        "statistics string stringprep struct subprocess sunau symtable sys sysconfig "
        "syslog tabnanny tarfile telnetlib tempfile termios textwrap threading time "
        "timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle "
        "turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave "
        "weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib "
        "zoneinfo ";

/* Attributes with the name of a module that are something else. */
static const char own[] = " ast.keyword ast.operator asyncio.subprocess cgitb.html collections.abc "
                          "copyreg.pickle datetime.time dbm.sqlite3 distutils.cmd distutils.sysconfig "
                          "imaplib.datetime importlib.abc importlib.resources.abc inspect.trace "
                          "locale.gettext optparse.gettext os.stat pickletools.dis posix.stat pydoc.html "
                          "queue.time shutil.copy socketserver.time ssl.socket sys.platform typing.io "
                          "typing.re unicodedata.decimal wsgiref.types xmlrpc.client.datetime ";

/* Whether the list contains the word, or the words "first.second". */
static bool has_word(const char *list, const char *first, size_t len, const char *second, size_t second_len)
{
        for (const char *at = list; (at = strchr(at, ' ')) && at[1]; at++)
                if (!strncmp(at + 1, first, len) &&
                    (second ? at[1 + len] == '.' && !strncmp(at + len + 2, second, second_len) &&
                                      at[len + second_len + 2] == ' '
                            : at[1 + len] == ' '))
                        return true;
        return false;
}

bool python_is_borrowed(const char *module, size_t len, const char *name, size_t name_len)
{
        const char *dot = memchr(module, '.', len);
        const size_t top = dot ? (size_t)(dot - module) : len;
        return has_word(library, module, top, NULL, 0) && has_word(library, name, name_len, NULL, 0) &&
               !has_word(own, module, len, name, name_len);
}
