// SPDX-License-Identifier: BSL-1.0
//
// The package ws with its default settings: as client it offers permessage-deflate, as server it
// answers pings by itself.
// usage: websocket_node.mjs connect URL | serve       serve prints "listening on port N" and echoes
import WebSocket, { WebSocketServer } from 'ws';

const sizes = [0, 1, 125, 126, 127, 65535, 65536, 1000000];

function fail(text) {
  console.log(`FAILED: ${text}`);
  process.exit(1);
}

function connect(url) {
  const socket = new WebSocket(url, ['other', 'peer']);
  let at = 0;
  const next = () => {
    if (at === 2 * sizes.length) return socket.ping('are you there');
    const size = sizes[at >> 1];
    socket.send(at & 1 ? Buffer.alloc(size, 200) : 'x'.repeat(size));
  };
  socket.on('open', next);
  socket.on('error', error => fail(String(error)));
  socket.on('message', (data, binary) => {
    if (data.length !== sizes[at >> 1] || binary !== Boolean(at & 1)) fail(`a wrong echo of ${sizes[at >> 1]}`);
    ++at;
    next();
  });
  socket.on('pong', data => {
    if (String(data) !== 'are you there') fail('another pong');
    socket.close(4001, 'enough');
  });
  socket.on('close', code => {
    if (code !== 4001) fail(`another end: ${code} at ${at}`);
    console.log('ok: echoes, a ping, an end');
    process.exit(0);
  });
}

function serve() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('listening', () => console.log(`listening on port ${server.address().port}`));
  server.on('connection', socket => socket.on('message', (data, binary) => socket.send(data, { binary })));
}

if (process.argv[2] === 'serve') serve();
else connect(process.argv[3]);
