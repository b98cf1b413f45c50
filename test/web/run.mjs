// run.mjs --cella PROGRAM --npm DIR [--only PATTERN] [--j N] -- the web page in a real Chromium, against real daemons.
import {readdirSync} from "node:fs";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {Daemon, Late, Skip, Trial, closeBrowser, openBrowser, options, tests} from "./harness.mjs";

const here = dirname(fileURLToPath(import.meta.url));
for (let i = 2; i < process.argv.length; i += 2) {
    const name = process.argv[i].slice(2);
    if (!["cella", "npm", "only", "j"].includes(name) || process.argv[i + 1] === undefined) {
        console.error("usage: run.mjs --cella PROGRAM --npm DIR [--only PATTERN] [--j N]");
        process.exit(2);
    }
    const value = process.argv[i + 1];
    options[name] = name === "only" ? new RegExp(value) : name === "j" ? value : resolve(value);
}

for (const file of readdirSync(here).filter((name) => /^test_.*\.mjs$/.test(name)).sort()) await import(join(here, file));

const LIMIT = 300000; // ms for one test
const chosen = tests.filter(({name}) => !options.only || options.only.test(name));
if (chosen.length === 0) {
    console.error("no test has such a name");
    process.exit(2);
}
const counts = {passed: 0, failed: 0, skipped: 0}, late = [];
const shared = {daemon: await Daemon.start()};
await openBrowser();
// A test that missed a deadline is repeated alone, at most twice.
const isLate = (failure) => failure instanceof Late || failure?.name === "TimeoutError";
async function perform({name, run}, tries = 3) {
    const trial = new Trial(name, shared), begun = Date.now();
    let failure = null, timer;
    const limit = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`not done after ${LIMIT / 1000} s`)), LIMIT); });
    try {
        await Promise.race([run(trial), limit]);
    } catch (error) { failure = error; }
    clearTimeout(timer);
    try {
        await trial.done();
    } catch (error) { failure ??= error; }
    if (failure instanceof Skip) {
        counts.skipped++;
        console.log(`skip ${name}: ${failure.message}`);
    } else if (isLate(failure) && tries > 1) {
        console.log(`late ${name}: ${String(failure.message).split("\n")[0]}; repeated later, alone`);
        late.push([{name, run}, tries - 1]);
    } else if (failure) {
        counts.failed++;
        console.log(`FAIL ${name}\n ${String(failure.stack ?? failure).split("\n").slice(0, 14).join("\n ")}`);
    } else {
        counts.passed++;
        console.log(`ok   ${name} (${Date.now() - begun} ms)`);
    }
}

// Those that measure are alone; the others wait most of the time, and do so side by side.
for (const one of chosen.filter(({alone}) => alone)) await perform(one);
const rest = chosen.filter(({alone}) => !alone);
await Promise.all(Array.from({length: Number(options.j)}, async () => {
    while (rest.length > 0) await perform(rest.shift());
}));
const tardy = late.length, allowed = Math.max(Math.floor(chosen.length / 100), chosen.length >= 20 ? 1 : 0);
while (late.length > 0) await perform(...late.shift());
if (tardy > allowed && !options.only) {
    counts.failed++;
    console.log(`FAIL late: ${tardy} of ${chosen.length} tests missed a deadline, more than ${allowed}`);
}
await closeBrowser();
await shared.daemon.stop();
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(counts.failed === 0 ? 0 : 1);
