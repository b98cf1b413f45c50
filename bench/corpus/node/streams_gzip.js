const fs = require('fs');
const zlib = require('zlib');
const { Readable, Transform } = require('stream');
const { pipeline } = require('stream/promises');
const readline = require('readline');

class Numbered extends Transform {
  constructor() {
    super({ objectMode: true });
    this.n = 0;
  }
  _transform(line, encoding, done) {
    done(null, `${++this.n}: ${line}\n`);
  }
}

async function main() {
  const lines = Array.from({ length: 500 }, (_, i) => `value ${(i * 7919) % 1000}`);
  await pipeline(Readable.from(lines), new Numbered(), zlib.createGzip(), fs.createWriteStream('lines.gz'));
  console.log('compressed:', fs.statSync('lines.gz').size < lines.join('\n').length);

  const input = fs.createReadStream('lines.gz').pipe(zlib.createGunzip());
  let count = 0;
  let last = '';
  for await (const line of readline.createInterface({ input })) {
    count++;
    last = line;
  }
  console.log(count, 'lines, last:', last);
  console.log(zlib.inflateSync(zlib.deflateSync('round trip')).toString());
}
main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
