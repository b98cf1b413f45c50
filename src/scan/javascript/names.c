/* scan/javascript/names.c -- tables of the modules and functions of Node.
 *
 * Names are in one form: without "node:", with dots for slashes, fs.promises.x and fs.xSync as fs.x
 * (javascript/value.c). */
#include <string.h>

#include "base/auto.h"
#include "scan/javascript/javascript.h"

static const struct known modules[] = {
        NETWORK("amqplib"),
        NETWORK("axios"),
        NETWORK("cross-fetch"),
        NETWORK("dgram"),
        NETWORK("dns"),
        NETWORK("express"),
        NETWORK("fastify"),
        NETWORK("got"),
        NETWORK("http"),
        NETWORK("http2"),
        NETWORK("https"),
        NETWORK("ioredis"),
        NETWORK("koa"),
        NETWORK("ky"),
        NETWORK("mongodb"),
        NETWORK("mysql"),
        NETWORK("mysql2"),
        NETWORK("needle"),
        NETWORK("net"),
        NETWORK("node-fetch"),
        NETWORK("nodemailer"),
        NETWORK("openai"),
        NETWORK("pg"),
        NETWORK("playwright"),
        NETWORK("puppeteer"),
        NETWORK("redis"),
        NETWORK("request"),
        NETWORK("socket.io"),
        NETWORK("socket.io-client"),
        NETWORK("ssh2"),
        NETWORK("superagent"),
        NETWORK("tls"),
        NETWORK("undici"),
        NETWORK("ws"),
        PROCESS("child_process"),
        PROCESS("cluster"),
        PROCESS("cross-spawn"),
        PROCESS("execa"),
        PROCESS("node-pty"),
        PROCESS("shelljs"),
        PROCESS("tree-kill"),
        PROCESS("worker_threads"),
        PROCESS("zx"),
        NATIVE("bindings"),
        NATIVE("ffi-napi"),
        NATIVE("inspector"),
        NATIVE("koffi"),
        NATIVE("ref-napi"),
        NATIVE("wasi"),
};

#define READ(name)                                                                                           \
        {                                                                                                    \
                name, CHECK_READ, RULE_FILE_READ                                                             \
        }

static const struct known functions[] = {
        /* evaluation, imports, names */
        {"eval", CHECK_EVALUATE, RULE_EVALUATE},
        {"execScript", CHECK_EVALUATE, RULE_EVALUATE},
        {"Function", CHECK_EVALUATE, RULE_EVALUATE},
        {"AsyncFunction", CHECK_EVALUATE, RULE_EVALUATE},
        {"GeneratorFunction", CHECK_EVALUATE, RULE_EVALUATE},
        {"setTimeout", CHECK_TIMER, RULE_EVALUATE},
        {"setInterval", CHECK_TIMER, RULE_EVALUATE},
        {"setImmediate", CHECK_TIMER, RULE_EVALUATE},
        {"vm.createContext", CHECK_NOTHING},
        {"vm.", CHECK_EVALUATE, RULE_EVALUATE},
        {"vm2.", CHECK_CALL, RULE_EVALUATE},
        {"repl.", CHECK_CALL, RULE_EVALUATE},
        {"require", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"import", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"require.resolve", CHECK_NOTHING},
        {"require.cache", CHECK_USE, RULE_INTROSPECTION},
        {"require.extensions", CHECK_USE, RULE_INTROSPECTION},
        {"module.constructor", CHECK_USE, RULE_INTROSPECTION},
        {"module._load", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"module.createRequire", CHECK_NOTHING, 0, 0, RESULT_REQUIRE},
        {"module.register", CHECK_USE, RULE_IMPORT_NOT_CONSTANT},
        {"process.getBuiltinModule", CHECK_IMPORT, RULE_IMPORT_NOT_CONSTANT, 0, RESULT_MODULE},
        {"importScripts", CHECK_USE, RULE_NETWORK_CALL},
        {"Reflect.get", CHECK_MEMBER, RULE_DYNAMIC_NAME, 0, RESULT_MEMBER},
        {"v8.setFlagsFromString", CHECK_USE, RULE_INTROSPECTION},
        /* native code */
        {"process.binding", CHECK_USE, RULE_NATIVE_CODE},
        {"process._linkedBinding", CHECK_USE, RULE_NATIVE_CODE},
        {"process.dlopen", CHECK_USE, RULE_NATIVE_CODE},
        {"WebAssembly.compile", CHECK_USE, RULE_EVALUATE},
        {"WebAssembly.instantiate", CHECK_USE, RULE_EVALUATE},
        {"WebAssembly.Module", CHECK_USE, RULE_EVALUATE},
        /* texts */
        GIVES("atob", BASE64),
        GIVES("Buffer.from", CODEC),
        GIVES("Buffer", CODEC),
        GIVES("unescape", DECODED),
        GIVES("decodeURIComponent", DECODED),
        GIVES("decodeURI", DECODED),
        GIVES("String.fromCharCode", CHARACTERS),
        GIVES("String.fromCodePoint", CHARACTERS),
        GIVES("String", SAME),
        GIVES("Number", NUMBER),
        GIVES("parseInt", NUMBER),
        GIVES("Date.now", NUMBER),
        GIVES("Math.", NUMBER),
        GIVES("zlib.inflate", DECODED),
        GIVES("zlib.gunzip", DECODED),
        GIVES("zlib.inflateRaw", DECODED),
        GIVES("zlib.unzip", DECODED),
        GIVES("zlib.brotliDecompress", DECODED),
        /* paths */
        GIVES("path.join", JOINED_PATH),
        GIVES("path.resolve", JOINED_PATH),
        GIVES("path.normalize", SAME),
        GIVES("os.tmpdir", TEMPORARY),
        GIVES("os.homedir", HOME),
        GIVES("process.cwd", HERE),
        GIVES("fs.mkdtemp", SAME),
        GIVES("fs.realpath", SAME),
        /* files */
        {"fs.open", CHECK_OPEN, RULE_FILE_READ},
        {"fs.openAsBlob", CHECK_READ, RULE_FILE_READ},
        READ("fs.readFile"),
        READ("fs.readdir"),
        READ("fs.createReadStream"),
        READ("fs.readlink"),
        WRITE("fs.appendFile", 1),
        WRITE("fs.chmod", 1),
        WRITE("fs.chown", 1),
        WRITE("fs.copyFile", 2),
        WRITE("fs.cp", 2),
        WRITE("fs.copy", 2),
        WRITE("fs.createWriteStream", 1),
        WRITE("fs.lchown", 1),
        WRITE("fs.link", 3),
        WRITE("fs.mkdir", 1),
        WRITE("fs.move", 3),
        WRITE("fs.outputFile", 1),
        {"fs.remove", CHECK_WRITE, RULE_FILE_TREE_OUTSIDE, 1},
        WRITE("fs.rename", 3),
        {"fs.rm", CHECK_WRITE, RULE_FILE_TREE_OUTSIDE, 1},
        {"fs.rmdir", CHECK_WRITE, RULE_FILE_TREE_OUTSIDE, 1},
        WRITE("fs.symlink", 3),
        WRITE("fs.truncate", 1),
        WRITE("fs.unlink", 1),
        WRITE("fs.utimes", 1),
        WRITE("fs.writeFile", 1),
        WRITE("Deno.writeTextFile", 1),
        WRITE("Deno.writeFile", 1),
        WRITE("Deno.remove", 1),
        WRITE("Bun.write", 1),
        {"process.chdir", CHECK_CHDIR, RULE_DIRECTORY_CHANGE},
        /* network */
        NET("fetch"),
        NET("WebSocket"),
        NET("EventSource"),
        NET("XMLHttpRequest"),
        NET("navigator.sendBeacon"),
        NET("axios"),
        NET("axios."),
        NET("got"),
        NET("got."),
        NET("request"),
        NET("node-fetch"),
        NET("ws"),
        NET("ws."),
        NET("undici."),
        GIVES("http.STATUS_CODES", UNKNOWN),
        NET("http."),
        NET("https."),
        NET("http2."),
        {"net.isIP", CHECK_NOTHING},
        {"net.isIPv4", CHECK_NOTHING},
        {"net.isIPv6", CHECK_NOTHING},
        NET("net."),
        NET("tls."),
        NET("dgram."),
        NET("dns."),
        NET("Deno.connect"),
        NET("Deno.listen"),
        NET("Bun.serve"),
        /* processes */
        {"child_process.exec", CHECK_SHELL, RULE_PROCESS_CALL},
        {"child_process.spawn", CHECK_COMMAND, RULE_PROCESS_CALL},
        {"child_process.execFile", CHECK_COMMAND, RULE_PROCESS_CALL},
        PROC("child_process.fork"),
        {"child_process.", CHECK_CALL, RULE_PROCESS_CALL},
        {"cluster.", CHECK_CALL, RULE_PROCESS_CALL},
        {"execa", CHECK_COMMAND, RULE_PROCESS_CALL},
        {"execa.", CHECK_CALL, RULE_PROCESS_CALL},
        {"shelljs.", CHECK_CALL, RULE_PROCESS_CALL},
        {"worker_threads.Worker", CHECK_USE, RULE_PROCESS_CALL},
        {"Worker", CHECK_CALL, RULE_PROCESS_CALL},
        {"Deno.run", CHECK_USE, RULE_PROCESS_CALL},
        {"Deno.Command", CHECK_USE, RULE_PROCESS_CALL},
        {"Bun.spawn", CHECK_USE, RULE_PROCESS_CALL},
        PROC("process.abort"),
        PROC("process.kill"),
        PROC("process._kill"),
        PROC("process.setuid"),
        PROC("process.setgid"),
        /* data that is code */
        {"v8.deserialize", CHECK_NOTHING},
        {"node-serialize.unserialize", CHECK_USE, RULE_DESERIALIZE},
};

static struct names module_names = {modules, ARRAY_LEN(modules)},
                    function_names = {functions, ARRAY_LEN(functions)};

int javascript_names_init(void)
{
        int r = names_init(&module_names);
        return r < 0 ? r : names_init(&function_names);
}

const struct known *javascript_known(const char *name, size_t len)
{
        return names_find(&function_names, name, len);
}

const struct known *javascript_module(const char *name, size_t len)
{
        return names_find_module(&module_names, name, len);
}

bool javascript_is_builtin(const char *name, size_t len)
{
        static const char *const others[] = {"process", "globalThis", "global", "Buffer", "module"};
        const struct known *known = names_find_exact(&function_names, name, len);
        return (known && !memchr(name, '.', len)) || names_list_has(others, ARRAY_LEN(others), name, len);
}
