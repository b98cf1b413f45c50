// words.js -- describes statuses of executions, violations and findings in plain words.

const STATUS = {
    running: ["Running", "info", "It is still running."],
    exited: ["Finished", "ok", "The code has finished."],
    signaled: ["Crashed", "bad", "It was ended by a signal."],
    timeout: ["Out of time", "warn", "It exceeded its timeout and was stopped."],
    memory_limit: ["Out of memory", "warn", "It needed more memory than its limit, and the kernel killed it."],
    disk_limit: ["Out of disk", "warn", "It wrote more than its disk limit allows."],
    process_limit: ["Too many processes", "warn", "It needed more processes than its limit allows."],
    cpu_limit: ["Out of CPU time", "warn", "It used up its CPU time."],
    output_limit: ["Too much output", "warn", "It exceeded its output limit and was stopped, as requested."],
    cancelled: ["Stopped", "warn", "It was stopped by a request."],
    interrupted: ["Interrupted", "warn", "The daemon ended while it was running."],
    refused: ["Refused", "bad", "The request was refused, and nothing was run."],
    lost: ["Lost", "bad", "Its result is not known."],
};

// Returns {label, tone, text} of a result or of a row of the log.
export function statusWords(result) {
    const [label, tone, text] = STATUS[result.status] ?? [result.status, "", ""];
    if (result.status === "exited" && result.exit_code !== 0)
        return {label: `Exit code ${result.exit_code}`, tone: "warn", text: "The code ended with an exit code that reports a failure."};
    if (result.status === "signaled" && result.signal) return {label: `Killed by signal ${result.signal}`, tone: "bad", text};
    return {label, tone, text};
}

const CALLS = {
    mount: "attach a file system", umount2: "detach a file system", ptrace: "trace another process", bpf: "load a program into the kernel",
    unshare: "make namespaces of its own", setns: "enter another namespace", reboot: "restart the machine", swapon: "use a swap file",
    init_module: "load a kernel module", finit_module: "load a kernel module", kexec_load: "load another kernel", keyctl: "use the kernel's keys",
    perf_event_open: "measure other processes", userfaultfd: "handle page faults by itself", io_uring_setup: "use io_uring", chroot: "change its root directory",
    pivot_root: "change its root directory", settimeofday: "set the clock", clock_settime: "set the clock", sethostname: "change the host's name",
    open_by_handle_at: "open files by number", process_vm_readv: "read another process's memory", process_vm_writev: "write another process's memory",
};
const LIMITS = {processes: "It could not start another process: its limit was reached.", memory: "One of its processes was killed because it used too much memory.",
    disk: "A write failed: its disk was full."};

// Returns one sentence for {kind, target, detail}; target and detail are untrusted: show the sentence with
// appendVisible().
export function violationWords({kind, target, detail}) {
    if (kind === "network") return `It tried to reach ${target}. Refused: ${detail || "it has no network"}.`;
    if (kind === "limit") return LIMITS[target] ?? `It hit a limit at ${target}${detail ? `: ${detail}` : ""}.`;
    if (kind === "syscall") return `It tried to ${CALLS[target] ?? `use the system call ${target}`}. Refused.`;
    return `${kind}: ${target}${detail ? ` (${detail})` : ""}`;
}

export const violationTitle = (kind) => ({network: "Network", limit: "Limit", syscall: "System call"})[kind] ?? kind;
