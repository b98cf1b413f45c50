const crypto = require('crypto');

const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
console.log(sha('hello').slice(0, 32));

const key = crypto.scryptSync('password', 'salt', 32, { N: 1024 });
const iv = Buffer.alloc(16, 7);
const cipher = crypto.createCipheriv('aes-256-cbc', key, iv);
const encrypted = cipher.update('attack at dawn', 'utf8', 'hex') + cipher.final('hex');
const decipher = crypto.createDecipheriv('aes-256-cbc', key, iv);
console.log(encrypted, decipher.update(encrypted, 'hex', 'utf8') + decipher.final('utf8'));

const mac = crypto.createHmac('sha256', 'secret').update('message').digest('base64url');
console.log(mac, crypto.timingSafeEqual(Buffer.from(mac), Buffer.from(mac)));
console.log(crypto.randomBytes(16).length, /^[0-9a-f-]{36}$/.test(crypto.randomUUID()));

// A chain of blocks, each with the hash of the previous one
let previous = '0'.repeat(64);
for (const data of ['first', 'second', 'third']) {
  let nonce = 0;
  while (!sha(previous + data + nonce).startsWith('00')) nonce++;
  previous = sha(previous + data + nonce);
  console.log(data, nonce, previous.slice(0, 12));
}
