/* scan/bash_names.c -- what commands are for. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "scan/bash.h"

#define NET COMMAND_NETWORK
#define PROC COMMAND_PROCESS
#define SYS COMMAND_SYSTEM
#define ALL COMMAND_WRITES_ALL
#define LAST COMMAND_WRITES_LAST
#define READS COMMAND_READS
#define WRAP COMMAND_WRAPPER
#define SUB COMMAND_SUBCOMMANDS
#define RUNS(name, options, language) {name, COMMAND_INTERPRETER, options, NULL, language}

/* Sorted by name. */
static const struct bash_command commands[] = {
        {".", COMMAND_EVALUATES},
        {"alias", COMMAND_INSIDE},
        {"apk", NET | SYS},
        {"apt", NET | SYS},
        {"apt-get", NET | SYS},
        {"aptitude", NET | SYS},
        {"ash", COMMAND_INTERPRETER, "c", NULL, SCAN_BASH},
        {"at", PROC},
        {"awk", COMMAND_INTERPRETER, "", NULL, SCAN_UNKNOWN},
        {"aws", NET},
        {"az", NET},
        {"base32", COMMAND_DECODES},
        {"base64", COMMAND_DECODES},
        {"basenc", COMMAND_DECODES},
        RUNS("bash", "c", SCAN_BASH),
        {"batch", PROC},
        {"brew", NET | SYS},
        {"builtin", WRAP},
        {"bun", COMMAND_INTERPRETER | SUB, "e eval", "add install update x", SCAN_JAVASCRIPT},
        {"bunzip2", COMMAND_DECODES},
        {"busybox", WRAP},
        {"cargo", SUB, NULL, "add fetch install publish search update"},
        {"cat", READS | COMMAND_ECHOES},
        {"cd", COMMAND_CHDIR},
        {"chattr", ALL, NULL, NULL, 0, 1},
        {"chgrp", ALL, NULL, NULL, 0, 1},
        {"chmod", ALL, NULL, NULL, 0, 1},
        {"chown", ALL, NULL, NULL, 0, 1},
        {"chroot", SYS | WRAP, NULL, NULL, 0, 1},
        {"chrt", WRAP, NULL, NULL, 0, 1},
        {"command", WRAP},
        {"composer", SUB, NULL, "install require update"},
        {"conda", SUB, NULL, "create install update"},
        {"coproc", PROC | WRAP},
        {"cp", LAST, "S t target-directory suffix"},
        {"crontab", PROC},
        {"csh", COMMAND_INTERPRETER, "c", NULL, SCAN_UNKNOWN},
        {"curl", NET, "o= output= d H X A u e b c D F T m data header request user-agent user"},
        RUNS("dash", "c", SCAN_BASH),
        {"dd", 0},
        {"delv", NET},
        {"deno", NET | COMMAND_EVALUATES},
        {"dig", NET},
        {"disown", PROC},
        {"dnf", NET | SYS},
        {"doas", SYS | WRAP, "u C"},
        {"docker", NET | SYS},
        {"dpkg", SYS},
        {"echo", COMMAND_ECHOES},
        {"env", WRAP, "u C S unset chdir"},
        {"eval", COMMAND_EVALUATES},
        {"exec", WRAP, "a"},
        {"fdisk", SYS},
        {"fetch", NET},
        {"fish", COMMAND_INTERPRETER, "c", NULL, SCAN_UNKNOWN},
        {"flock", WRAP, "w", NULL, 0, 1},
        {"ftp", NET},
        {"gawk", COMMAND_INTERPRETER, "", NULL, SCAN_UNKNOWN},
        {"gcloud", NET},
        {"gdb", PROC},
        {"gem", SUB, NULL, "install update fetch push"},
        {"gh", NET},
        {"git", SUB, "C c", "clone fetch pull push ls-remote remote submodule"},
        {"go", SUB, NULL, "get install mod run"},
        {"gsutil", NET},
        {"gunzip", COMMAND_DECODES},
        {"gzip", COMMAND_DECODES | ALL, "S"},
        {"halt", SYS},
        {"head", READS, "n c lines bytes"},
        {"host", NET},
        {"http", NET},
        {"https", NET},
        {"ifconfig", NET | SYS},
        {"insmod", SYS},
        {"install", LAST, "m o g t"},
        {"ionice", WRAP, "c n p"},
        {"ip", NET | SYS},
        {"iptables", SYS},
        {"kill", PROC},
        {"killall", PROC},
        RUNS("ksh", "c", SCAN_BASH),
        {"kubectl", NET},
        {"ldapsearch", NET},
        {"less", READS},
        {"lftp", NET},
        {"link", ALL},
        {"ln", ALL, "S t"},
        {"losetup", SYS},
        {"lua", COMMAND_INTERPRETER, "e", NULL, SCAN_UNKNOWN},
        {"lynx", NET},
        {"mail", NET},
        {"mawk", COMMAND_INTERPRETER, "", NULL, SCAN_UNKNOWN},
        {"mkdir", ALL, "m mode"},
        {"mkfifo", ALL, "m mode"},
        {"mkfs", SYS},
        {"mknod", ALL},
        {"modprobe", SYS},
        {"mongo", NET},
        {"more", READS},
        {"mosh", NET},
        {"mount", SYS},
        {"mv", ALL, "S t suffix target-directory"},
        {"mysql", NET},
        {"nc", NET},
        {"ncat", NET},
        {"netcat", NET},
        {"nft", SYS},
        {"nice", WRAP, "n adjustment"},
        {"nmap", NET},
        RUNS("node", "e eval p print pe", SCAN_JAVASCRIPT),
        RUNS("nodejs", "e eval p print pe", SCAN_JAVASCRIPT),
        {"nohup", PROC | WRAP},
        {"npm", SUB, NULL, "add ci exec i install publish update view"},
        {"npx", NET | COMMAND_EVALUATES},
        {"nsenter", SYS | WRAP},
        {"nslookup", NET},
        {"od", READS},
        {"openssl", COMMAND_DECODES | SUB, NULL, "s_client s_server ocsp"},
        {"pacman", NET | SYS},
        {"passwd", SYS},
        RUNS("perl", "e E", SCAN_UNKNOWN),
        RUNS("php", "r", SCAN_UNKNOWN),
        {"ping", NET},
        {"ping6", NET},
        {"pip", SUB, NULL, "download install wheel index search"},
        {"pip3", SUB, NULL, "download install wheel index search"},
        {"pipx", NET},
        {"pkill", PROC},
        {"pnpm", SUB, NULL, "add i install update dlx"},
        {"podman", NET | SYS},
        {"poetry", SUB, NULL, "add install update publish"},
        {"poweroff", SYS},
        {"printf", COMMAND_ECHOES},
        {"prlimit", WRAP},
        {"psql", NET},
        {"pushd", COMMAND_CHDIR},
        RUNS("pwsh", "c Command", SCAN_UNKNOWN),
        RUNS("pypy3", "c", SCAN_PYTHON),
        RUNS("python", "c W X", SCAN_PYTHON),
        RUNS("python2", "c W X", SCAN_PYTHON),
        RUNS("python3", "c W X", SCAN_PYTHON),
        RUNS("rbash", "c", SCAN_BASH),
        {"rclone", NET},
        {"reboot", SYS},
        {"redis-cli", NET},
        {"renice", PROC},
        {"rev", COMMAND_DECODES},
        {"rm", ALL},
        {"rmdir", ALL},
        {"rmmod", SYS},
        {"rpm", SYS},
        {"rsh", NET},
        {"rsync", NET | LAST, "e"},
        RUNS("ruby", "e", SCAN_UNKNOWN),
        {"scp", NET},
        {"screen", PROC},
        {"script", WRAP, "c"},
        {"sed", 0},
        {"service", SYS},
        {"setcap", SYS},
        {"setsid", PROC | WRAP},
        {"sftp", NET},
        RUNS("sh", "c", SCAN_BASH),
        {"shred", ALL, "n s"},
        {"shutdown", SYS},
        {"skopeo", NET},
        {"smbclient", NET},
        {"snap", NET | SYS},
        {"socat", NET},
        {"source", COMMAND_EVALUATES},
        {"split", LAST, "b l n a"},
        {"ssh", NET},
        {"ssh-copy-id", NET},
        {"ssh-keyscan", NET},
        {"start-stop-daemon", PROC},
        {"stdbuf", WRAP, "i o e"},
        {"strace", PROC | WRAP, "e o p s"},
        {"strings", READS},
        {"su", SYS},
        {"sudo", SYS | WRAP, "u g h p C"},
        {"svn", NET},
        {"swapoff", SYS},
        {"sysctl", SYS},
        {"systemctl", SYS},
        {"systemd-run", SYS | PROC},
        {"tail", READS, "n c lines bytes"},
        {"tar", 0},
        {"taskset", WRAP, NULL, NULL, 0, 1},
        {"tcpdump", NET},
        {"tee", ALL},
        {"telnet", NET},
        {"tftp", NET},
        {"time", WRAP, "f o"},
        {"timeout", WRAP, "k s signal kill-after", NULL, 0, 1},
        {"tmux", PROC},
        {"touch", ALL, "d t r"},
        {"tr", COMMAND_DECODES},
        {"traceroute", NET},
        {"trap", COMMAND_INSIDE},
        {"truncate", ALL, "s r size"},
        {"umount", SYS},
        {"unlink", ALL},
        {"unshare", SYS | WRAP},
        {"unxz", COMMAND_DECODES},
        {"unzip", 0},
        {"useradd", SYS},
        {"userdel", SYS},
        {"usermod", SYS},
        {"uudecode", COMMAND_DECODES},
        {"uv", SUB, NULL, "add pip sync tool"},
        {"watch", PROC | WRAP, "n"},
        {"wget", NET, "O= output-document= P U o directory-prefix header"},
        {"whois", NET},
        {"xargs", WRAP, "I n P L d a s E"},
        {"xxd", COMMAND_DECODES},
        {"xz", COMMAND_DECODES},
        {"xzcat", COMMAND_DECODES},
        {"yarn", SUB, NULL, "add install upgrade dlx"},
        {"yum", NET | SYS},
        {"zcat", COMMAND_DECODES},
        RUNS("zsh", "c", SCAN_BASH),
};

struct key {
        const char *text;
        size_t len;
};

static int compare(const void *a, const void *b)
{
        const struct key *key = a;
        const char *name = ((const struct bash_command *)b)->name;
        int order = strncmp(key->text, name, key->len);
        return order != 0 ? order : name[key->len] ? -1 : 0;
}

const struct bash_command *bash_command(const char *name, size_t len)
{
        const struct key key = {name, len};
        const struct bash_command *found;
        if (len == 0 || memchr(name, '\0', len))
                return NULL;
        found = bsearch(&key, commands, ARRAY_LEN(commands), sizeof *commands, compare);
        if (!found && len > 7 && !memcmp(name, "python3", 7)) {
                const struct key plain = {name, 7}; /* python3.11 */
                found = bsearch(&plain, commands, ARRAY_LEN(commands), sizeof *commands, compare);
        }
        return found;
}

bool bash_has_word(const char *list, const char *word, size_t len)
{
        for (const char *at = list; at && len > 0; at = strchr(at, ' ')) {
                at += *at == ' ';
                size_t n = strcspn(at, " =");
                if (n == len && !memcmp(at, word, n))
                        return true;
        }
        return false;
}
