const { setTimeout: sleep } = require('node:timers/promises');

async function task(name, ms, fail = false) {
  await sleep(ms);
  if (fail) throw new Error(`${name} failed`);
  return `${name} done`;
}

async function withRetry(work, attempts) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      console.log(`attempt ${attempt}: ${error.message}`);
      if (attempt === attempts) throw error;
    }
  }
}

async function pool(tasks, limit) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < tasks.length) {
      const i = next++;
      results[i] = await tasks[i]();
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}

(async () => {
  console.log(await Promise.all([task('a', 3), task('b', 1), task('c', 2)]));
  const settled = await Promise.allSettled([task('good', 1), task('bad', 1, true)]);
  console.log(settled.map((s) => s.value ?? s.reason.message));
  console.log(await withRetry((n) => task(`try ${n}`, 1, n < 3), 5));
  console.log(await pool([1, 2, 3, 4, 5].map((n) => async () => n * n), 2));
  console.log(await Promise.any([task('x', 1, true), task('y', 2)]));
})();
console.log('started');
