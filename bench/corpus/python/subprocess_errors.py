import shlex
import subprocess


def run(command, **options):
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **options)
    except FileNotFoundError as e:
        return f"not found: {e.filename}"
    except subprocess.CalledProcessError as e:
        return f"failed with {e.returncode}: {e.stderr.strip()}"
    except subprocess.TimeoutExpired:
        return "timed out"
    return f"ok: {result.stdout.strip()}"


print(run(["printf", "%s-%s", "a", "b"]))
print(run("exit 3", shell=True))
print(run("echo problem >&2; false", shell=True))
print(run(["no-such-program", "--version"]))
print(run(shlex.split("sh -c 'echo \"two words\"'")))
print(run(["cat"], input="from stdin"))
print(run("echo $GREETING", shell=True, env={"GREETING": "hi there"}))
print(run("kill -TERM $$", shell=True))
