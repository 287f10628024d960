// SPDX-License-Identifier: BSL-1.0
//
// undici, the client below Node's fetch, with its default settings and with pipelining, against
// beck's server.
// usage: http_undici.mjs URL
import { Agent, Client, request } from 'undici';

const base = process.argv[2];

async function call(method, path, body, options = {}) {
  const response = await request(base + path, { method, body, ...options });
  return [response.statusCode, await response.body.text()];
}

function require(condition, text) {
  if (!condition) throw new Error(text);
}

// Posts a body that is refused, then a small one that must arrive. A response that comes while the body
// is sent may reach undici as an error of the refused request itself, never of the next one.
async function behindRefusals(size, options) {
  for (let round = 0; round < 60; ++round) {
    try {
      const [status] = await call('POST', '/refuse', Buffer.alloc(size), options);
      require(status === 401, `round ${round}: the refusal: ${status}`);
    } catch (error) {
      require(size > 65536 && ['EPIPE', 'ECONNRESET', 'UND_ERR_SOCKET'].includes(error.code), `round ${round}: ${error}`);
    }
    const [status, text] = await call('POST', '/after', 'hello', options);
    require(status === 200 && text.startsWith('POST /after 5 '), `round ${round}: behind it: ${status} ${text}`);
  }
}

async function pipelining() {
  const client = new Client(base, { pipelining: 10 });
  const all = [];
  for (let i = 0; i < 500; ++i) all.push(client.request({ method: 'GET', path: `/n/${i}` }).then(r => r.body.text()));
  const texts = await Promise.all(all);
  texts.forEach((text, i) => require(text.startsWith(`GET /n/${i} `), `response ${i}: ${text}`));
  await client.close();
}

async function cutUploads() {
  for (let round = 0; round < 20; ++round) {
    const stop = new AbortController();
    async function* body() {
      yield Buffer.alloc(50000);
      stop.abort();
      yield Buffer.alloc(50000);
    }
    const failed = await call('POST', '/cut', body(), { signal: stop.signal }).then(() => false, () => true);
    require(failed, 'a cut upload has a response');
    const [status, text] = await call('GET', '/bytes/100');
    require(status === 200 && text.length === 100, `after it: ${status}`);
  }
}

async function fetches() {
  const texts = await Promise.all(Array.from({ length: 200 }, (_, i) =>
    fetch(`${base}/f/${i}`, { method: 'POST', body: 'x'.repeat(i) }).then(r => r.text())));
  texts.forEach((text, i) => require(text.startsWith(`POST /f/${i} ${i} `), `fetch ${i}: ${text}`));
}

for (const [name, run] of [
  ['a small body is refused', () => behindRefusals(5, { dispatcher: new Agent({ connections: 1 }) })],
  ['a body of 70,000 bytes is refused', () => behindRefusals(70000, { dispatcher: new Agent({ connections: 1 }) })],
  ['a body of 2 MB is refused', () => behindRefusals(2000000, { dispatcher: new Agent({ connections: 1 }) })],
  ['pipelines of 10', pipelining],
  ['uploads that are cut', cutUploads],
  ['200 fetches at once', fetches],
]) {
  try {
    await run();
    console.log(`ok: ${name}`);
  } catch (error) {
    console.log(`FAILED: ${name}: ${error}`);
    process.exit(1);
  }
}
process.exit(0);
