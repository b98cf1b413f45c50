const maze = [
  'S.#.....',
  '..#.###.',
  '.##.#...',
  '....#.#.',
  '.##...#E',
];

function find(letter) {
  const y = maze.findIndex((row) => row.includes(letter));
  return [maze[y].indexOf(letter), y];
}

function solve() {
  const start = find('S');
  const end = find('E').join();
  const queue = [start];
  const from = new Map([[start.join(), null]]);
  while (queue.length > 0) {
    const [x, y] = queue.shift();
    if (`${x},${y}` === end) break;
    for (const [dx, dy] of [[1, 0], [0, 1], [-1, 0], [0, -1]]) {
      const next = [x + dx, y + dy];
      const cell = maze[next[1]]?.[next[0]];
      if (cell && cell !== '#' && !from.has(next.join())) {
        from.set(next.join(), `${x},${y}`);
        queue.push(next);
      }
    }
  }
  const path = [];
  for (let at = end; at; at = from.get(at)) path.unshift(at);
  return path;
}

const path = solve();
console.log(`length ${path.length - 1}`);
const cells = maze.map((row) => [...row]);
for (const step of path.slice(1, -1)) {
  const [x, y] = step.split(',');
  cells[y][x] = '*';
}
console.log(cells.map((row) => row.join('')).join('\n'));
