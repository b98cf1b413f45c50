const fs = require('node:fs');

const users = [
  { id: 1, name: 'Ann', roles: ['admin', 'dev'], address: { city: 'Oslo' } },
  { id: 2, name: 'Bob', roles: [], address: null },
  { id: 3, name: 'Cid', roles: ['dev'], address: { city: 'Rome', zip: '00100' } },
];
fs.writeFileSync('users.json', JSON.stringify(users));

const loaded = JSON.parse(fs.readFileSync('users.json', 'utf8'), (key, value) =>
  key === 'zip' ? Number(value) : value
);
const byRole = {};
for (const user of loaded) {
  for (const role of user.roles) (byRole[role] ??= []).push(user.name);
}
console.log(byRole);
console.log(loaded.map(({ name, address }) => `${name}: ${address?.city ?? 'unknown'}`));
console.log(JSON.stringify(loaded, ['id', 'name'], 1));
console.dir(loaded[2], { depth: 3 });
try {
  JSON.parse('{"a": }');
} catch (error) {
  console.log(error instanceof SyntaxError, error.name);
}
const copy = structuredClone(loaded);
copy[0].roles.push('new');
console.log(loaded[0].roles.length, copy[0].roles.length);
