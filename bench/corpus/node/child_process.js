const { execFileSync, spawn, spawnSync, exec } = require('child_process');
const { promisify } = require('util');

console.log(execFileSync('echo', ['from', 'a', 'child'], { encoding: 'utf8' }).trim());

const failed = spawnSync('sh', ['-c', 'echo oops >&2; exit 7'], { encoding: 'utf8' });
console.log('status:', failed.status, 'stderr:', failed.stderr.trim());
console.log('error:', spawnSync('no-such-program').error.code);

async function main() {
  const { stdout } = await promisify(exec)('printf "%s\\n" c a b | sort');
  console.log(stdout.trim().split('\n'));

  const tr = spawn('tr', ['a-z', 'A-Z']);
  let out = '';
  tr.stdout.on('data', (chunk) => (out += chunk));
  tr.stdin.end('shout this');
  const code = await new Promise((resolve) => tr.on('close', resolve));
  console.log(code, out);

  const node = execFileSync(process.execPath, ['-e', 'console.log(process.argv.slice(1).join("+"))', 'x', 'y']);
  console.log(node.toString().trim());
}
main();
