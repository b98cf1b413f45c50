const csv = `date,category,amount
2024-01-03,food,12.50
2024-01-05,rent,800
2024-01-09,food,30.25
2024-01-20,travel,55.00
2024-01-21,"food, eating out",41.10
2024-02-01,rent,800`;

function parseLine(line) {
  const cells = [];
  for (const match of line.matchAll(/("([^"]*)"|[^,]*)(,|$)/g)) {
    cells.push(match[2] ?? match[1]);
    if (match[3] === '') break;
  }
  return cells;
}

const [header, ...rows] = csv.split('\n').map(parseLine);
const records = rows.map((row) => Object.fromEntries(header.map((name, i) => [name, row[i]])));
const totals = new Map();
for (const { category, amount } of records) {
  totals.set(category, (totals.get(category) ?? 0) + Number(amount));
}
for (const [category, total] of [...totals].sort((a, b) => b[1] - a[1])) {
  console.log(`${category}: ${total.toFixed(2)}`);
}
console.log('average:', (records.reduce((s, r) => s + Number(r.amount), 0) / records.length).toFixed(3));
console.log(JSON.stringify(records[4]));
