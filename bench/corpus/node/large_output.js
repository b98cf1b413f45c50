// Prints about 120 KB.
const rows = [];
for (let row = 0; row < 2000; row++) {
  const cells = Array.from({ length: 10 }, (_, column) => String((row * 31 + column * 17) % 997).padStart(4));
  rows.push(`${String(row).padStart(5, '0')} ${cells.join(' ')}`);
}
console.log(rows.join('\n'));
for (let i = 0; i < 200; i++) {
  console.log(`item ${i}: ${'#'.repeat(i % 50)}`);
}
console.error('finished');
