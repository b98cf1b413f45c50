const day = 24 * 60 * 60 * 1000;
const start = new Date(Date.UTC(2024, 1, 27));
for (let i = 0; i < 4; i++) {
  const date = new Date(start.getTime() + i * day);
  console.log(date.toISOString().slice(0, 10), ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getUTCDay()]);
}

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
console.log(format.format(new Date('2024-07-04T15:30:00Z')));
console.log(new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(1234567.891));
console.log((0.1 + 0.2).toFixed(2), (1234.5).toLocaleString('en-US'), (255).toString(16));

const between = (a, b) => Math.round((Date.parse(b) - Date.parse(a)) / day);
console.log(between('2024-01-01', '2024-12-31'), 'days');
console.log(Number.isNaN(Date.parse('not a date')), new Date(0).toJSON());
console.log(['ä', 'z', 'a', 'Z'].sort(new Intl.Collator('de').compare).join(' '));
console.log(9007199254740993n * 2n, 2 ** 53 === 2 ** 53 + 1);
