// A process of its own that notes when it is called, by its own clock: the "service behind" of the queue tests.
// POST /start?n=…   notes a start        GET /starts   all of them as JSON        DELETE /starts   forgets them
const { createServer } = require('node:http');

let starts = [];
const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now();
  const url = new URL(request.url, 'http://recorder');
  if (request.method === 'POST') {
    starts.push({ atMs, ...Object.fromEntries(url.searchParams) });
    response.writeHead(204).end();
  } else if (request.method === 'DELETE') {
    starts = [];
    response.writeHead(204).end();
  } else {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(starts));
  }
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
