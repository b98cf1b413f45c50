/* scan/python/names.c -- tables of Python modules and functions. */
#include <string.h>

#include "base/auto.h"
#include "scan/python/python.h"

#define NETWORK(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_NETWORK                                                         \
        }
#define PROCESS(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_PROCESS                                                         \
        }
#define NATIVE(name)                                                                                         \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_NATIVE                                                          \
        }

static const struct known modules[] = {
        NETWORK("_socket"),
        NETWORK("_ssl"),
        NETWORK("aiohttp"),
        NETWORK("aiosmtplib"),
        NETWORK("asyncssh"),
        NETWORK("boto"),
        NETWORK("boto3"),
        NETWORK("botocore"),
        NETWORK("dns"),
        NETWORK("elasticsearch"),
        NETWORK("fabric"),
        NETWORK("flask"),
        NETWORK("ftplib"),
        NETWORK("grpc"),
        NETWORK("gunicorn"),
        NETWORK("http.client"),
        NETWORK("http.server"),
        NETWORK("httplib"),
        NETWORK("httplib2"),
        NETWORK("httpx"),
        NETWORK("imaplib"),
        NETWORK("kafka"),
        NETWORK("ldap3"),
        NETWORK("mechanize"),
        NETWORK("mysql"),
        NETWORK("nntplib"),
        NETWORK("openai"),
        NETWORK("paho"),
        NETWORK("paramiko"),
        NETWORK("pika"),
        NETWORK("pip"),
        NETWORK("playwright"),
        NETWORK("poplib"),
        NETWORK("psycopg"),
        NETWORK("psycopg2"),
        NETWORK("pycurl"),
        NETWORK("pymongo"),
        NETWORK("pymysql"),
        NETWORK("redis"),
        NETWORK("requests"),
        NETWORK("requests_html"),
        NETWORK("scapy"),
        NETWORK("scrapy"),
        NETWORK("selenium"),
        NETWORK("smtplib"),
        NETWORK("socket"),
        NETWORK("socketserver"),
        NETWORK("socks"),
        NETWORK("ssl"),
        NETWORK("telnetlib"),
        NETWORK("treq"),
        NETWORK("twisted"),
        NETWORK("urllib.request"),
        NETWORK("urllib2"),
        NETWORK("urllib3"),
        NETWORK("uvicorn"),
        NETWORK("webbrowser"),
        NETWORK("websocket"),
        NETWORK("websockets"),
        NETWORK("wsgiref.simple_server"),
        NETWORK("xmlrpc"),
        NETWORK("zmq"),
        PROCESS("_posixsubprocess"),
        PROCESS("commands"),
        PROCESS("invoke"),
        PROCESS("multiprocessing"),
        PROCESS("pexpect"),
        PROCESS("plumbum"),
        PROCESS("popen2"),
        PROCESS("psutil"),
        PROCESS("ptyprocess"),
        PROCESS("pty"),
        PROCESS("sh"),
        PROCESS("signal"),
        PROCESS("subprocess"),
        NATIVE("_ctypes"),
        NATIVE("cffi"),
        NATIVE("ctypes"),
        NATIVE("llvmlite"),
};

#define NET(name)                                                                                            \
        {                                                                                                    \
                name, CHECK_CALL, RULE_NETWORK_CALL                                                          \
        }
#define PROC(name)                                                                                           \
        {                                                                                                    \
                name, CHECK_USE, RULE_PROCESS_CALL                                                           \
        }
#define PROC_CALL(name)                                                                                      \
        {                                                                                                    \
                name, CHECK_CALL, RULE_PROCESS_CALL                                                          \
        }
#define SHELL(name)                                                                                          \
        {                                                                                                    \
                name, CHECK_SHELL, RULE_PROCESS_CALL                                                         \
        }
#define COMMAND(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_COMMAND, RULE_PROCESS_CALL                                                       \
        }
#define WRITE(name, files)                                                                                   \
        {                                                                                                    \
                name, CHECK_WRITE, RULE_FILE_WRITE, files                                                    \
        }
#define PICKLE(name)                                                                                         \
        {                                                                                                    \
                name, CHECK_USE, RULE_DESERIALIZE                                                            \
        }
#define GIVES(name, what)                                                                                    \
        {                                                                                                    \
                name, CHECK_NOTHING, 0, 0, RESULT_##what                                                     \
        }
#define DYNAMIC(name)                                                                                        \
        {                                                                                                    \
                name, CHECK_USE, RULE_IMPORT_NOT_CONSTANT                                                    \
        }

static const struct known functions[] = {
        /* evaluation, imports, names */
        {"eval", CHECK_EVALUATE, RULE_EVALUATE},
        {"exec", CHECK_EVALUATE, RULE_EVALUATE},
        {"execfile", CHECK_USE, RULE_EVALUATE},
        {"breakpoint", CHECK_USE, RULE_EVALUATE},
        {"compile", CHECK_EVALUATE, RULE_EVALUATE, 0, RESULT_SAME},
        {"code.", CHECK_CALL, RULE_EVALUATE},
        {"codeop.", CHECK_CALL, RULE_EVALUATE},
        {"runpy.", CHECK_CALL, RULE_EVALUATE},
        {"timeit.timeit", CHECK_EVALUATE, RULE_EVALUATE},
        {"types.CodeType", CHECK_USE, RULE_EVALUATE},
        {"types.FunctionType", CHECK_USE, RULE_EVALUATE},
        {"sys.settrace", CHECK_USE, RULE_INTROSPECTION},
        {"sys.setprofile", CHECK_USE, RULE_INTROSPECTION},
        {"sys._getframe", CHECK_USE, RULE_INTROSPECTION},
        {"sys.meta_path", CHECK_USE, RULE_INTROSPECTION},
        {"sys.addaudithook", CHECK_USE, RULE_INTROSPECTION},
        {"inspect.currentframe", CHECK_USE, RULE_INTROSPECTION},
        {"inspect.stack", CHECK_USE, RULE_INTROSPECTION},
        {"gc.get_objects", CHECK_USE, RULE_INTROSPECTION},
        {"gc.get_referrers", CHECK_USE, RULE_INTROSPECTION},
        {"__import__", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_TOP_MODULE},
        {"importlib.import_module", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"importlib.__import__", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_TOP_MODULE},
        DYNAMIC("importlib.reload"),
        DYNAMIC("importlib.util.module_from_spec"),
        DYNAMIC("importlib.util.spec_from_file_location"),
        DYNAMIC("importlib.util.spec_from_loader"),
        {"importlib.machinery.", CHECK_CALL, RULE_IMPORT_NOT_CONSTANT},
        {"imp.", CHECK_CALL, RULE_IMPORT_NOT_CONSTANT},
        {"zipimport.", CHECK_CALL, RULE_IMPORT_NOT_CONSTANT},
        {"pkgutil.get_loader", CHECK_USE, RULE_IMPORT_NOT_CONSTANT},
        {"pkgutil.find_loader", CHECK_USE, RULE_IMPORT_NOT_CONSTANT},
        {"pydoc.locate", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"site.addsitedir", CHECK_USE, RULE_IMPORT_NOT_CONSTANT},
        {"getattr", CHECK_MEMBER, RULE_DYNAMIC_NAME, 0, RESULT_MEMBER},
        {"object.__getattribute__", CHECK_MEMBER, RULE_DYNAMIC_NAME, 0, RESULT_MEMBER},
        GIVES("operator.attrgetter", GETTER),
        GIVES("vars", MEMBERS),
        GIVES("globals", GLOBALS),
        GIVES("locals", GLOBALS),
        GIVES("functools.partial", SAME),
        GIVES("staticmethod", SAME),
        /* texts */
        GIVES("str", SAME),
        GIVES("bytes", CHARACTERS),
        GIVES("bytearray", CHARACTERS),
        GIVES("memoryview", SAME),
        GIVES("chr", CHARACTERS),
        GIVES("int", NUMBER),
        GIVES("len", NUMBER),
        GIVES("ord", NUMBER),
        GIVES("range", NUMBER),
        GIVES("round", NUMBER),
        GIVES("abs", NUMBER),
        GIVES("os.getpid", NUMBER),
        GIVES("time.time", NUMBER),
        GIVES("reversed", REVERSED),
        GIVES("list", SAME),
        GIVES("tuple", SAME),
        GIVES("iter", SAME),
        GIVES("sys.intern", SAME),
        GIVES("base64.b64decode", BASE64),
        GIVES("base64.standard_b64decode", BASE64),
        GIVES("base64.urlsafe_b64decode", BASE64),
        GIVES("base64.decodebytes", BASE64),
        GIVES("base64.decodestring", BASE64),
        GIVES("base64.b16decode", HEX),
        GIVES("base64.b32decode", DECODED),
        GIVES("base64.b85decode", DECODED),
        GIVES("base64.a85decode", DECODED),
        GIVES("binascii.a2b_base64", BASE64),
        GIVES("binascii.unhexlify", HEX),
        GIVES("binascii.a2b_hex", HEX),
        GIVES("binascii.", DECODED),
        GIVES("bytes.fromhex", HEX),
        GIVES("bytearray.fromhex", HEX),
        GIVES("codecs.decode", CODEC),
        GIVES("codecs.encode", CODEC),
        GIVES("zlib.decompress", DECODED),
        GIVES("gzip.decompress", DECODED),
        GIVES("bz2.decompress", DECODED),
        GIVES("lzma.decompress", DECODED),
        GIVES("urllib.parse.unquote", DECODED),
        GIVES("html.unescape", DECODED),
        /* paths */
        GIVES("os.path.join", JOINED_PATH),
        GIVES("posixpath.join", JOINED_PATH),
        GIVES("os.path.abspath", SAME),
        GIVES("os.path.normpath", SAME),
        GIVES("os.path.realpath", SAME),
        GIVES("os.path.expanduser", SAME),
        GIVES("os.fspath", SAME),
        GIVES("os.fsencode", SAME),
        GIVES("os.fsdecode", SAME),
        GIVES("os.getcwd", HERE),
        GIVES("pathlib.Path", PATH),
        GIVES("pathlib.PosixPath", PATH),
        GIVES("pathlib.PurePath", PATH),
        GIVES("pathlib.PurePosixPath", PATH),
        GIVES("pathlib.Path.cwd", HERE),
        GIVES("pathlib.Path.home", HOME),
        GIVES("tempfile.mkdtemp", TEMPORARY),
        GIVES("tempfile.mktemp", TEMPORARY),
        GIVES("tempfile.gettempdir", TEMPORARY),
        GIVES("tempfile.TemporaryDirectory", TEMPORARY),
        GIVES("tempfile.NamedTemporaryFile", TEMPORARY),
        /* files */
        {"open", CHECK_OPEN, RULE_FILE_READ},
        {"io.open", CHECK_OPEN, RULE_FILE_READ},
        {"io.FileIO", CHECK_OPEN, RULE_FILE_READ},
        {"_io.open", CHECK_OPEN, RULE_FILE_READ},
        {"codecs.open", CHECK_OPEN, RULE_FILE_READ},
        {"gzip.open", CHECK_OPEN, RULE_FILE_READ},
        {"bz2.open", CHECK_OPEN, RULE_FILE_READ},
        {"lzma.open", CHECK_OPEN, RULE_FILE_READ},
        {"tarfile.open", CHECK_OPEN, RULE_FILE_READ},
        {"zipfile.ZipFile", CHECK_OPEN, RULE_FILE_READ},
        {"h5py.File", CHECK_OPEN, RULE_FILE_READ},
        {"os.fdopen", CHECK_NOTHING},
        {"os.open", CHECK_OPEN, RULE_FILE_READ},
        WRITE("os.chmod", 1),
        WRITE("os.chown", 1),
        WRITE("os.lchown", 1),
        WRITE("os.link", 3),
        WRITE("os.makedirs", 1),
        WRITE("os.mkdir", 1),
        WRITE("os.mkfifo", 1),
        WRITE("os.mknod", 1),
        WRITE("os.remove", 1),
        WRITE("os.removedirs", 1),
        WRITE("os.rename", 3),
        WRITE("os.renames", 3),
        WRITE("os.replace", 3),
        WRITE("os.rmdir", 1),
        WRITE("os.setxattr", 1),
        WRITE("os.symlink", 3),
        WRITE("os.truncate", 1),
        WRITE("os.unlink", 1),
        WRITE("os.utime", 1),
        WRITE("shutil.chown", 1),
        WRITE("shutil.copy", 2),
        WRITE("shutil.copy2", 2),
        WRITE("shutil.copyfile", 2),
        WRITE("shutil.copymode", 2),
        WRITE("shutil.copystat", 2),
        WRITE("shutil.copytree", 2),
        WRITE("shutil.make_archive", 1),
        WRITE("shutil.move", 3),
        {"shutil.rmtree", CHECK_WRITE, RULE_FILE_TREE_OUTSIDE, 1},
        WRITE("shutil.unpack_archive", 2),
        WRITE("sqlite3.connect", 1),
        WRITE("shelve.open", 1),
        WRITE("dbm.open", 1),
        WRITE("logging.FileHandler", 1),
        {"logging.basicConfig", CHECK_SAVE, RULE_FILE_WRITE},
        WRITE("numpy.save", 1),
        WRITE("numpy.savetxt", 1),
        WRITE("numpy.savez", 1),
        WRITE("numpy.savez_compressed", 1),
        WRITE("torch.save", 2),
        WRITE("matplotlib.pyplot.savefig", 1),
        {"os.listdir", CHECK_READ, RULE_FILE_READ},
        {"os.scandir", CHECK_READ, RULE_FILE_READ},
        {"os.walk", CHECK_READ, RULE_FILE_READ},
        {"os.readlink", CHECK_READ, RULE_FILE_READ},
        {"glob.glob", CHECK_READ, RULE_FILE_READ},
        {"glob.iglob", CHECK_READ, RULE_FILE_READ},
        {"numpy.loadtxt", CHECK_READ, RULE_FILE_READ},
        {"numpy.genfromtxt", CHECK_READ, RULE_FILE_READ},
        {"os.chdir", CHECK_CHDIR, RULE_DIRECTORY_CHANGE},
        {"os.fchdir", CHECK_USE, RULE_DIRECTORY_CHANGE},
        {"os.chroot", CHECK_USE, RULE_DIRECTORY_CHANGE},
        {"contextlib.chdir", CHECK_CHDIR, RULE_DIRECTORY_CHANGE},
        {"pandas.read_csv", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_excel", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_html", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_json", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_parquet", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_table", CHECK_URL, RULE_NETWORK_CALL},
        {"pandas.read_xml", CHECK_URL, RULE_NETWORK_CALL},
        {"polars.read_csv", CHECK_URL, RULE_NETWORK_CALL},
        PICKLE("pandas.read_pickle"),
        /* network */
        NET("aiohttp."),
        NET("asyncio.open_connection"),
        NET("asyncio.open_unix_connection"),
        NET("asyncio.start_server"),
        NET("asyncio.start_unix_server"),
        NET("boto3."),
        NET("dns."),
        NET("ftplib."),
        NET("http.client."),
        NET("http.server."),
        NET("httplib2."),
        NET("httpx."),
        NET("imaplib."),
        NET("logging.handlers.SocketHandler"),
        NET("logging.handlers.HTTPHandler"),
        NET("logging.handlers.SysLogHandler"),
        NET("nntplib."),
        NET("paramiko."),
        NET("pip."),
        NET("poplib."),
        NET("pycurl."),
        NET("requests."),
        NET("smtplib."),
        NET("socket."),
        NET("_socket."),
        NET("socketserver."),
        NET("ssl."),
        NET("telnetlib."),
        {"urllib.request.Request", CHECK_NOTHING},
        NET("urllib.request."),
        NET("urllib.urlopen"),
        NET("urllib2."),
        NET("urllib3."),
        NET("webbrowser."),
        NET("websocket."),
        NET("websockets."),
        NET("xmlrpc."),
        GIVES("socket.inet_aton", UNKNOWN),
        GIVES("socket.inet_ntoa", UNKNOWN),
        GIVES("socket.htons", UNKNOWN),
        /* processes */
        PROC("asyncio.create_subprocess_exec"),
        PROC("asyncio.create_subprocess_shell"),
        PROC("concurrent.futures.ProcessPoolExecutor"),
        PROC("os._exit"),
        PROC("os.abort"),
        PROC("os.execl"),
        PROC("os.execle"),
        PROC("os.execlp"),
        PROC("os.execlpe"),
        PROC("os.execv"),
        PROC("os.execve"),
        PROC("os.execvp"),
        PROC("os.execvpe"),
        PROC("os.fork"),
        PROC("os.forkpty"),
        PROC("os.kill"),
        PROC("os.killpg"),
        PROC("os.nice"),
        PROC("os.pidfd_open"),
        PROC("os.posix_spawn"),
        PROC("os.posix_spawnp"),
        PROC("os.setgid"),
        PROC("os.setpgid"),
        PROC("os.setpgrp"),
        PROC("os.setsid"),
        PROC("os.setuid"),
        PROC("os.spawnl"),
        PROC("os.spawnle"),
        PROC("os.spawnlp"),
        PROC("os.spawnlpe"),
        PROC("os.spawnv"),
        PROC("os.spawnve"),
        PROC("os.spawnvp"),
        PROC("os.spawnvpe"),
        PROC("os.startfile"),
        PROC("os.wait"),
        PROC("os.waitpid"),
        PROC("_posixsubprocess.fork_exec"),
        SHELL("os.popen"),
        SHELL("os.system"),
        SHELL("subprocess.getoutput"),
        SHELL("subprocess.getstatusoutput"),
        SHELL("commands.getoutput"),
        COMMAND("subprocess.Popen"),
        COMMAND("subprocess.call"),
        COMMAND("subprocess.check_call"),
        COMMAND("subprocess.check_output"),
        COMMAND("subprocess.run"),
        PROC("pty.spawn"),
        PROC("pty.fork"),
        PROC_CALL("subprocess."),
        PROC_CALL("multiprocessing."),
        GIVES("multiprocessing.cpu_count", NUMBER),
        PROC_CALL("pexpect."),
        PROC_CALL("psutil.Process"),
        PROC("signal.pthread_kill"),
        PROC("signal.raise_signal"),
        PROC_CALL("signal."),
        {"ctypes.", CHECK_CALL, RULE_NATIVE_CODE},
        {"cffi.", CHECK_CALL, RULE_NATIVE_CODE},
        {"mmap.mmap", CHECK_NOTHING},
        /* data that is code */
        PICKLE("pickle.load"),
        PICKLE("pickle.loads"),
        PICKLE("pickle.Unpickler"),
        PICKLE("_pickle.loads"),
        PICKLE("cPickle.loads"),
        PICKLE("dill.load"),
        PICKLE("dill.loads"),
        PICKLE("cloudpickle.load"),
        PICKLE("cloudpickle.loads"),
        PICKLE("joblib.load"),
        PICKLE("jsonpickle.decode"),
        PICKLE("torch.load"),
        PICKLE("yaml.unsafe_load"),
        PICKLE("yaml.full_load"),
        {"marshal.loads", CHECK_USE, RULE_DESERIALIZE, 0, RESULT_DECODED},
        {"marshal.load", CHECK_USE, RULE_DESERIALIZE, 0, RESULT_DECODED},
};

static const struct known methods[] = {
        {"write_text", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"write_bytes", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"savefig", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_csv", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_excel", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_feather", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_hdf", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_html", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_json", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_parquet", CHECK_SAVE, RULE_FILE_WRITE},
        {"to_pickle", CHECK_SAVE, RULE_FILE_WRITE},
        {"extractall", CHECK_SAVE, RULE_FILE_WRITE},
        {"create_subprocess_exec", CHECK_CALL, RULE_PROCESS_CALL},
        {"create_subprocess_shell", CHECK_CALL, RULE_PROCESS_CALL},
        {"load_module", CHECK_CALL, RULE_IMPORT_NOT_CONSTANT},
        {"exec_module", CHECK_CALL, RULE_IMPORT_NOT_CONSTANT},
};

static const struct known path_methods[] = {
        {"chmod", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"hardlink_to", CHECK_WRITE, RULE_FILE_WRITE, 1},
        {"iterdir", CHECK_READ, RULE_FILE_READ},
        {"lchmod", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"link_to", CHECK_WRITE, RULE_FILE_WRITE, 1},
        {"mkdir", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"open", CHECK_OPEN, RULE_FILE_READ},
        {"read_bytes", CHECK_READ, RULE_FILE_READ},
        {"read_text", CHECK_READ, RULE_FILE_READ},
        {"rename", CHECK_WRITE, RULE_FILE_WRITE, 1},
        {"replace", CHECK_WRITE, RULE_FILE_WRITE, 1},
        {"rmdir", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"symlink_to", CHECK_WRITE, RULE_FILE_WRITE, 1},
        {"touch", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"unlink", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"write_bytes", CHECK_WRITE, RULE_FILE_WRITE, 0},
        {"write_text", CHECK_WRITE, RULE_FILE_WRITE, 0},
};

static struct names module_names = {modules, ARRAY_LEN(modules)},
                    function_names = {functions, ARRAY_LEN(functions)},
                    method_names = {methods, ARRAY_LEN(methods)},
                    path_method_names = {path_methods, ARRAY_LEN(path_methods)};

int python_names_init(void)
{
        int r = names_init(&module_names);
        if (r == 0)
                r = names_init(&function_names);
        if (r == 0)
                r = names_init(&method_names);
        return r < 0 ? r : names_init(&path_method_names);
}

const struct known *python_known(const char *name, size_t len)
{
        return names_find(&function_names, name, len);
}

const struct known *python_module(const char *name, size_t len)
{
        return names_find_module(&module_names, name, len);
}

const struct known *python_method(const char *name, size_t len)
{
        return names_find_exact(&method_names, name, len);
}

const struct known *python_path_method(const char *name, size_t len)
{
        return names_find_exact(&path_method_names, name, len);
}

bool python_is_inner(const char *name, size_t len)
{
        static const char *const inner[] = {"__subclasses__", "__globals__", "__builtins__", "__code__",
                                            "__closure__",    "__loader__",  "__spec__",     "f_globals",
                                            "f_builtins",     "f_locals",    "f_back",       "gi_frame",
                                            "cr_frame",       "ag_frame",    "tb_frame",     "gi_code",
                                            "cr_code",        "co_code",     "__reduce__",   "__reduce_ex__"};
        return names_list_has(inner, ARRAY_LEN(inner), name, len);
}

bool python_is_root(const char *name, size_t len)
{
        static const char *const roots[] = {
                "os",    "sys",     "subprocess", "socket", "builtins",        "ctypes",          "importlib",
                "posix", "_socket", "shutil",     "pty",    "multiprocessing", "_posixsubprocess"};
        return names_list_has(roots, ARRAY_LEN(roots), name, len);
}

bool python_is_builtin(const char *name, size_t len)
{
        const struct known *known = names_find_exact(&function_names, name, len);
        return (known && !memchr(name, '.', len)) || python_is_refused(name, len);
}
