function* naturals(from = 1) {
  for (let n = from; ; n++) yield n;
}
function* filter(iterable, test) {
  for (const item of iterable) if (test(item)) yield item;
}
function* take(n, iterable) {
  if (n <= 0) return;
  for (const item of iterable) {
    yield item;
    if (--n === 0) return;
  }
}
const isPrime = (n) => n > 1 && ![...take(Math.floor(Math.sqrt(n)) - 1, naturals(2))].some((d) => n % d === 0);
console.log([...take(12, filter(naturals(), isPrime))].join(', '));

function* conversation() {
  const name = yield 'name?';
  const age = yield `${name}, age?`;
  return { name, age };
}
const talk = conversation();
console.log(talk.next().value, talk.next('Ann').value, talk.next(30));

const tree = { value: 1, children: [{ value: 2, children: [{ value: 3, children: [] }] }, { value: 4, children: [] }] };
function* visit(node, depth = 0) {
  yield '  '.repeat(depth) + node.value;
  for (const child of node.children) yield* visit(child, depth + 1);
}
console.log([...visit(tree)].join('\n'));

(async () => {
  async function* ticks() {
    for (let i = 0; i < 3; i++) {
      await null;
      yield i;
    }
  }
  for await (const tick of ticks()) console.log('tick', tick);
})();
