import subprocess
import sys

# Run a command and capture its output
result = subprocess.run(["echo", "hello from a child"], capture_output=True, text=True, check=True)
print(result.stdout.strip(), result.returncode)

# Feed input through a pipeline: sort | uniq -c
words = "pear\napple\npear\nfig\napple\npear\n"
sort = subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
uniq = subprocess.Popen(["uniq", "-c"], stdin=sort.stdout, stdout=subprocess.PIPE, text=True)
sort.stdout.close()
sort.stdin.write(words)
sort.stdin.close()
for line in uniq.communicate()[0].splitlines():
    count, word = line.split()
    print(f"{word}: {count}")
sort.wait()

# A child interpreter
code = "import sys; print(sum(int(line) for line in sys.stdin))"
total = subprocess.check_output([sys.executable, "-c", code], input="1\n2\n39\n", text=True)
print("sum:", total.strip())
