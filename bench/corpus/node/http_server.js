const http = require('http');

const todos = [{ id: 1, text: 'write code', done: true }];
const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const reply = (status, body) => {
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  if (request.method === 'GET' && url.pathname === '/todos') {
    const done = url.searchParams.get('done');
    return reply(200, todos.filter((t) => done === null || String(t.done) === done));
  }
  if (request.method === 'POST' && url.pathname === '/todos') {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const todo = { id: todos.length + 1, done: false, ...JSON.parse(body) };
      todos.push(todo);
      reply(201, todo);
    });
    return;
  }
  reply(404, { error: 'not found' });
});

function call(port, method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port, method, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve([response.statusCode, JSON.parse(text)]));
    });
    request.on('error', reject);
    request.end(body && JSON.stringify(body));
  });
}

server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address();
  console.log(await call(port, 'POST', '/todos', { text: 'test it' }));
  console.log(await call(port, 'GET', '/todos?done=false'));
  console.log(await call(port, 'GET', '/nothing'));
  server.close(() => console.log('closed'));
});
