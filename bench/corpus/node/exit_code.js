const assert = require('assert');

const tests = {
  addition: () => assert.strictEqual(1 + 1, 2),
  objects: () => assert.deepStrictEqual({ a: [1, 2] }, { a: [1, 2] }),
  strings: () => assert.match('hello world', /wor/),
  failing: () => assert.strictEqual('abc'.length, 4, 'the length is wrong'),
  throwing: () => assert.throws(() => null.x, TypeError),
};

let failures = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    test();
    console.log(`ok   ${name}`);
  } catch (error) {
    failures++;
    console.error(`FAIL ${name}: ${error.message}`);
  }
}
console.log(`${Object.keys(tests).length - failures} passed, ${failures} failed`);
process.exit(failures ? 20 + failures : 0);
