const http = require('node:http');

const controller = new AbortController();
const server = http.createServer((request, response) => {
  if (request.url === '/slow') {
    controller.abort(); // the user cancels while the request is running
    return;
  }
  response.setHeader('content-type', 'application/json');
  response.statusCode = request.url === '/error' ? 500 : 200;
  response.end(JSON.stringify({ url: request.url, agent: request.headers['x-agent'] ?? null }));
});

async function main() {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${server.address().port}`;

  const response = await fetch(`${base}/ok?x=${encodeURIComponent('a b')}`, { headers: { 'X-Agent': 'test' } });
  console.log(response.status, await response.json());

  const failed = await fetch(`${base}/error`);
  console.log(failed.ok, failed.status, (await failed.json()).url);

  try {
    await fetch(`${base}/slow`, { signal: controller.signal });
  } catch (error) {
    console.log('aborted:', error.name);
  }
  server.closeAllConnections();
  server.close();
}
main();
