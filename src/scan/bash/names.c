/* scan/bash/names.c -- the table of commands. */
#include <string.h>

#include "base/auto.h"
#include "scan/bash/bash.h"

#define NET COMMAND_NETWORK
#define PROC COMMAND_PROCESS
#define SYS COMMAND_SYSTEM
#define ALL COMMAND_WRITES_ALL
#define LAST COMMAND_WRITES_LAST
#define READS COMMAND_READS
#define WRAP COMMAND_WRAPPER
#define SUB COMMAND_SUBCOMMANDS
/* The options of an interpreter that has none for code: its first argument is the program. */
#define AWK ""
#define RUNS(name, options, language)                                                                        \
        {                                                                                                    \
                name, COMMAND_INTERPRETER, language, options                                                 \
        }

static const struct bash_command commands[] = {
        {".", COMMAND_EVALUATES},
        {"alias", COMMAND_INSIDE},
        {"ant", COMMAND_RUNS_FILES},
        {"apk", NET | SYS},
        {"apt", NET | SYS},
        {"apt-get", NET | SYS},
        {"aptitude", NET | SYS},
        {"ash", COMMAND_INTERPRETER, SCAN_BASH, "c"},
        {"at", PROC},
        RUNS("awk", AWK, SCAN_UNKNOWN),
        {"aws", NET},
        {"az", NET},
        {"base32", COMMAND_DECODES},
        {"base64", COMMAND_DECODES},
        {"basenc", COMMAND_DECODES},
        RUNS("bash", "c", SCAN_BASH),
        {"batch", PROC},
        {"bats", COMMAND_RUNS_FILES},
        {"brew", NET | SYS},
        {"builtin", WRAP},
        {"bun", COMMAND_INTERPRETER | SUB, SCAN_JAVASCRIPT, "e eval", "add install update x"},
        {"bunzip2", COMMAND_DECODES},
        {"busybox", WRAP},
        {"cargo", SUB, 0, NULL, "add fetch install publish search update", "bench build run test"},
        {"cat", READS | COMMAND_ECHOES},
        {"cd", COMMAND_CHDIR},
        {"chattr", ALL, 0, NULL, NULL, NULL, 1},
        {"chgrp", ALL, 0, NULL, NULL, NULL, 1},
        {"chmod", ALL, 0, NULL, NULL, NULL, 1},
        {"chown", ALL, 0, NULL, NULL, NULL, 1},
        {"chroot", SYS | WRAP, 0, NULL, NULL, NULL, 1},
        {"chrt", WRAP, 0, NULL, NULL, NULL, 1},
        {"command", WRAP},
        {"composer", SUB, 0, NULL, "install require update"},
        {"conda", SUB, 0, NULL, "create install update"},
        {"coproc", PROC | WRAP},
        {"cp", LAST, 0, "S t target-directory suffix"},
        {"crontab", PROC},
        {"csh", COMMAND_INTERPRETER, SCAN_UNKNOWN, "c"},
        {"curl", NET, 0, "o= output= d H X A u e b c D F T m data header request user-agent user"},
        RUNS("dash", "c", SCAN_BASH),
        {"dd", 0},
        {"delv", NET},
        {"deno", NET | COMMAND_EVALUATES},
        {"dig", NET},
        {"disown", PROC},
        {"dnf", NET | SYS},
        {"doas", SYS | WRAP, 0, "u C"},
        {"docker", NET | SYS},
        {"dpkg", SYS},
        {"echo", COMMAND_ECHOES},
        {"env", WRAP, 0, "u C S unset chdir"},
        {"eval", COMMAND_EVALUATES},
        {"exec", WRAP, 0, "a"},
        {"fdisk", SYS},
        {"fetch", NET},
        {"fish", COMMAND_INTERPRETER, SCAN_UNKNOWN, "c"},
        {"flock", WRAP, 0, "w", NULL, NULL, 1},
        {"ftp", NET},
        RUNS("gawk", AWK, SCAN_UNKNOWN),
        {"gcloud", NET},
        {"gdb", PROC},
        {"gem", SUB, 0, NULL, "install update fetch push"},
        {"gh", NET},
        {"git", SUB, 0, "C c", "clone fetch pull push ls-remote remote submodule"},
        {"gmake", COMMAND_RUNS_FILES},
        {"go", SUB, 0, NULL, "get install mod", "generate run test"},
        {"gradle", COMMAND_RUNS_FILES},
        {"gsutil", NET},
        {"gunzip", COMMAND_DECODES},
        {"gzip", COMMAND_DECODES | ALL, 0, "S"},
        {"halt", SYS},
        {"head", READS, 0, "n c lines bytes"},
        {"host", NET},
        {"http", NET},
        {"https", NET},
        {"ifconfig", NET | SYS},
        {"insmod", SYS},
        {"install", LAST, 0, "m o g t"},
        {"ionice", WRAP, 0, "c n p"},
        {"ip", NET | SYS},
        {"iptables", SYS},
        {"jest", COMMAND_RUNS_FILES},
        {"just", COMMAND_RUNS_FILES},
        {"kill", PROC},
        {"killall", PROC},
        RUNS("ksh", "c", SCAN_BASH),
        {"kubectl", NET},
        {"ldapsearch", NET},
        {"less", READS},
        {"lftp", NET},
        {"link", ALL},
        {"ln", ALL, 0, "S t"},
        {"losetup", SYS},
        {"lua", COMMAND_INTERPRETER, SCAN_UNKNOWN, "e"},
        {"luajit", COMMAND_INTERPRETER, SCAN_UNKNOWN, "e"},
        {"lynx", NET},
        {"mail", NET},
        {"make", COMMAND_RUNS_FILES},
        RUNS("mawk", AWK, SCAN_UNKNOWN),
        {"mkdir", ALL, 0, "m mode"},
        {"mkfifo", ALL, 0, "m mode"},
        {"mkfs", SYS},
        {"mknod", ALL},
        {"modprobe", SYS},
        {"mongo", NET},
        {"more", READS},
        {"mosh", NET},
        {"mount", SYS},
        {"mv", ALL, 0, "S t suffix target-directory"},
        {"mvn", COMMAND_RUNS_FILES},
        {"mysql", NET},
        {"nc", NET},
        {"ncat", NET},
        {"netcat", NET},
        {"nft", SYS},
        {"nice", WRAP, 0, "n adjustment"},
        {"ninja", COMMAND_RUNS_FILES},
        {"nmap", NET},
        RUNS("node", "e eval p print pe", SCAN_JAVASCRIPT),
        RUNS("nodejs", "e eval p print pe", SCAN_JAVASCRIPT),
        {"nohup", PROC | WRAP},
        {"nox", COMMAND_RUNS_FILES},
        {"npm", SUB, 0, NULL, "add ci exec i install publish update view", "run start t test"},
        {"npx", NET | COMMAND_EVALUATES},
        {"nsenter", SYS | WRAP},
        {"nslookup", NET},
        {"od", READS},
        {"openssl", COMMAND_DECODES | SUB, 0, NULL, "s_client s_server ocsp"},
        {"pacman", NET | SYS},
        {"passwd", SYS},
        RUNS("perl", "e E", SCAN_UNKNOWN),
        RUNS("php", "r", SCAN_UNKNOWN),
        {"ping", NET},
        {"ping6", NET},
        {"pip", SUB, 0, NULL, "download install wheel index search"},
        {"pip3", SUB, 0, NULL, "download install wheel index search"},
        {"pipx", NET},
        {"pkill", PROC},
        {"pnpm", SUB, 0, NULL, "add i install update dlx", "run start t test"},
        {"podman", NET | SYS},
        {"poetry", SUB, 0, NULL, "add install update publish", "run"},
        {"poweroff", SYS},
        {"printf", COMMAND_ECHOES},
        {"prlimit", WRAP},
        {"psql", NET},
        {"pushd", COMMAND_CHDIR},
        RUNS("pwsh", "c Command", SCAN_UNKNOWN),
        RUNS("pypy3", "c", SCAN_PYTHON),
        {"pytest", COMMAND_RUNS_FILES},
        RUNS("python", "c W X", SCAN_PYTHON),
        RUNS("python2", "c W X", SCAN_PYTHON),
        RUNS("python3", "c W X", SCAN_PYTHON),
        {"rake", COMMAND_RUNS_FILES},
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
        RUNS("Rscript", "e", SCAN_UNKNOWN),
        {"rsync", NET | LAST, 0, "e"},
        RUNS("ruby", "e", SCAN_UNKNOWN),
        {"scp", NET},
        {"screen", PROC},
        {"script", WRAP, 0, "c"},
        {"sed", 0},
        {"service", SYS},
        {"setcap", SYS},
        {"setsid", PROC | WRAP},
        {"sftp", NET},
        RUNS("sh", "c", SCAN_BASH),
        {"shred", ALL, 0, "n s"},
        {"shutdown", SYS},
        {"skopeo", NET},
        {"smbclient", NET},
        {"snap", NET | SYS},
        {"socat", NET},
        {"source", COMMAND_EVALUATES},
        {"split", LAST, 0, "b l n a"},
        {"ssh", NET},
        {"ssh-copy-id", NET},
        {"ssh-keyscan", NET},
        {"start-stop-daemon", PROC},
        {"stdbuf", WRAP, 0, "i o e"},
        {"strace", PROC | WRAP, 0, "e o p s"},
        {"strings", READS},
        {"su", SYS},
        {"sudo", SYS | WRAP, 0, "u g h p C"},
        {"svn", NET},
        {"swapoff", SYS},
        {"sysctl", SYS},
        {"systemctl", SYS},
        {"systemd-run", SYS | PROC},
        {"tail", READS, 0, "n c lines bytes"},
        {"tar", 0},
        {"taskset", WRAP, 0, NULL, NULL, NULL, 1},
        RUNS("tclsh", "e", SCAN_UNKNOWN), /* it has no option -e; "" would mean AWK */
        {"tcpdump", NET},
        {"tee", ALL},
        {"telnet", NET},
        {"tftp", NET},
        {"time", WRAP, 0, "f o"},
        {"timeout", WRAP, 0, "k s signal kill-after", NULL, NULL, 1},
        {"tmux", PROC},
        {"touch", ALL, 0, "d t r"},
        {"tox", COMMAND_RUNS_FILES},
        {"tr", COMMAND_DECODES},
        {"traceroute", NET},
        {"trap", COMMAND_INSIDE},
        {"truncate", ALL, 0, "s r size"},
        {"umount", SYS},
        {"unlink", ALL},
        {"unshare", SYS | WRAP},
        {"unxz", COMMAND_DECODES},
        {"unzip", 0},
        {"useradd", SYS},
        {"userdel", SYS},
        {"usermod", SYS},
        {"uudecode", COMMAND_DECODES},
        {"uv", SUB, 0, NULL, "add pip sync tool", "run"},
        {"watch", PROC | WRAP, 0, "n"},
        {"wget", NET, 0, "O= output-document= P U o directory-prefix header"},
        {"whois", NET},
        {"xargs", WRAP, 0, "I n P L d a s E"},
        {"xxd", COMMAND_DECODES},
        {"xz", COMMAND_DECODES},
        {"xzcat", COMMAND_DECODES},
        {"yarn", SUB, 0, NULL, "add install upgrade dlx", "run start test"},
        {"yum", NET | SYS},
        {"zcat", COMMAND_DECODES},
        RUNS("zsh", "c", SCAN_BASH),
};

static const struct bash_command *bash_names_find(const char *name, size_t len)
{
        for (size_t i = 0; i < ARRAY_LEN(commands); i++)
                if (commands[i].name[0] == name[0] && strlen(commands[i].name) == len &&
                    !memcmp(commands[i].name, name, len))
                        return &commands[i];
        return NULL;
}

const struct bash_command *bash_command(const char *name, size_t len)
{
        const struct bash_command *found = len > 0 ? bash_names_find(name, len) : NULL;
        if (found)
                return found;
        while (len > 1 && (name[len - 1] == '.' || (name[len - 1] >= '0' && name[len - 1] <= '9')))
                len--; /* python3.11, lua5.4 */
        found = len > 0 ? bash_names_find(name, len) : NULL;
        return found && found->flags & COMMAND_INTERPRETER ? found : NULL;
}

bool bash_is_harmless(const char *name, size_t len)
{
        static const char words[] =
                ": [ [[ basename break cal case cksum cmp column comm continue cut date declare df diff "
                "dirname du "
                "echo expand expr factor false file find fmt fold free getopts grep egrep fgrep groups head "
                "hexdump "
                "hostname id join jq let local look ls md5sum mapfile nl nproc numfmt od paste pathchk "
                "printf pr "
                "printenv ptx pwd read readarray readlink readonly realpath return rev seq sha1sum sha224sum "
                "sha256sum sha384sum sha512sum shift shopt shuf sleep sort stat strings sum tac tail test "
                "times "
                "tput tr true tsort tty type typeset uname unexpand uniq unset uptime wait wc which whoami "
                "xxd yes "
                "exit set export";
        return bash_has_word(words, name, len);
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
