function render(template, values) {
  return template.replace(/\{\{\s*([\w.]+)(?:\s*\|\s*(\w+))?\s*\}\}/g, (whole, name, filter) => {
    const value = name.split('.').reduce((v, key) => v?.[key], values);
    if (value === undefined) return whole;
    return filter === 'upper' ? String(value).toUpperCase() : String(value);
  });
}

const values = { user: { name: 'Ann', plan: 'pro' }, count: 3 };
console.log(render('Hello {{ user.name | upper }}, {{count}} items, plan {{user.plan}}, {{missing}}', values));

const log = '2024-05-01T10:00:00Z ERROR db: timeout after 30s\n2024-05-01T10:00:05Z INFO web: ok';
const pattern = /^(?<time>\S+)\s(?<level>[A-Z]+)\s(?<source>\w+):\s(?<message>.*)$/gm;
for (const { groups } of log.matchAll(pattern)) {
  console.log({ ...groups });
}
const slug = (text) => text.normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
console.log(['Crème brûlée!', '  Hello,  World ', 'A_B C'].map(slug));
console.log('2024-02-30,2024-13-01,1999-12-31'.split(',').filter((d) => /^\d{4}-(0[1-9]|1[0-2])-\d\d$/.test(d)));
console.log('camelCaseToSnake'.replace(/[A-Z]/g, (c) => '_' + c.toLowerCase()), 'a1b22c333'.match(/\d+/g));
