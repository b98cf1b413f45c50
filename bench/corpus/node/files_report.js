const fs = require('fs');
const path = require('path');

fs.mkdirSync('data/nested', { recursive: true });
for (let i = 1; i <= 5; i++) {
  fs.writeFileSync(path.join('data', `file${i}.txt`), `line\n`.repeat(i * 3));
}
fs.writeFileSync('data/nested/config.json', JSON.stringify({ debug: true, level: 3 }, null, 2));

function walk(directory) {
  return fs.readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(directory, entry.name);
    return entry.isDirectory() ? walk(full) : [full];
  });
}

for (const file of walk('data').sort()) {
  const size = fs.statSync(file).size;
  console.log(`${file.padEnd(26)} ${String(size).padStart(5)} ${path.extname(file)}`);
}
fs.appendFileSync('data/file1.txt', 'appended\n');
console.log(fs.readFileSync('data/file1.txt', 'utf8').trim().split('\n').length, 'lines');
fs.rmSync('data', { recursive: true });
console.log('exists:', fs.existsSync('data'));
