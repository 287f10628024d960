// SPDX-License-Identifier: BSL-1.0
//
// node-redis and ioredis with their default settings.
// usage: redis_node.mjs redis|ioredis PORT [CHECK...]     without these checks
import Redis from 'ioredis';
import { createClient, createCluster } from 'redis';

const [library, port, ...leftOut] = process.argv.slice(2);

function require(condition, text) {
  if (!condition) throw new Error(text);
}

async function connect() {
  if (library === 'ioredis') return new Redis(Number(port), '127.0.0.1', { maxRetriesPerRequest: 2 });
  const client = createClient({ url: `redis://127.0.0.1:${port}` });
  client.on('error', error => { console.log(`FAILED: connection: ${error}`); process.exit(1); });
  await client.connect();
  return client;
}

const end = client => (library === 'ioredis' ? client.disconnect() : client.destroy());
const send = (client, ...words) => (library === 'ioredis' ? client.call(...words) : client.sendCommand(words));

async function values(client) {
  const clients = [client];
  for (let i = 1; i < 5; ++i) clients.push(await connect());
  await Promise.all(clients.map(async (one, number) => {
    for (let i = 0; i < 50; ++i) {
      await one.set(`node:${number}`, String(i));
      const got = await one.get(`node:${number}`);
      require(got === String(i), `${got}, not ${i}`);
    }
  }));
  clients.slice(1).forEach(end);
}

async function pipeline(client) {
  await client.del('node:{p}');
  const replies = await Promise.all(Array.from({ length: 100 }, () => client.incr('node:{p}')));
  replies.forEach((reply, i) => require(reply === i + 1, `reply ${i}: ${reply}`));
}

async function transaction(client) {
  await client.del('node:{t}');
  const replies = await client.multi().set('node:{t}', '1').incr('node:{t}').exec();
  require(String(replies.flat().at(-1)) === '2', JSON.stringify(replies));
}

async function script(client) {
  const text = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
  await client.del('node:{s}');
  const sha = await send(client, 'SCRIPT', 'LOAD', text);
  require(Number(await send(client, 'EVALSHA', sha, '1', 'node:{s}', '2')) === 2, 'EVALSHA');
}

async function messages(client) {
  const listener = await connect();
  const came = new Promise(resolve => {
    if (library === 'ioredis') listener.on('message', (_, text) => resolve(text));
    else listener.subscribe('node:channel', text => resolve(text)).catch(() => {});
  });
  if (library === 'ioredis') await listener.subscribe('node:channel');
  for (let i = 0; i < 50; ++i) {
    await client.publish('node:channel', 'hello');
    const got = await Promise.race([came, new Promise(resolve => setTimeout(resolve, 100))]);
    if (got) return void (require(got === 'hello', got), end(listener));
  }
  throw new Error('no message came');
}

async function blocking(client) {
  const other = await connect();
  await client.del('node:{l}');
  const waits = send(other, 'BLPOP', 'node:{l}', '5');
  await send(client, 'RPUSH', 'node:{l}', 'x');
  const [, got] = await waits;
  require(String(got) === 'x', String(got));
  end(other);
}

async function cluster() {
  const at = { host: '127.0.0.1', port: Number(port) };
  const client = library === 'ioredis' ? new Redis.Cluster([at])
    : createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
  if (library !== 'ioredis') await client.connect();
  await Promise.all(Array.from({ length: 100 }, async (_, i) => {
    await client.set(`node:c${i}`, String(i));
    const got = await client.get(`node:c${i}`);
    require(got === String(i), `${got}, not ${i}`);
  }));
  end(client);
}

const limit = setTimeout(() => { console.log('FAILED: no end after 40 s'); process.exit(1); }, 40000);
const client = await connect();
const steps = [['values', values], ['a pipeline', pipeline], ['a transaction', transaction], ['messages', messages],
  ['a script', script], ['a blocking command', blocking],
  ["a cluster's client", cluster]];
for (const [name, run] of steps) {
  if (leftOut.includes(name)) continue;
  try {
    await run(client);
    console.log(`ok: ${name}`);
  } catch (error) {
    console.log(`FAILED: ${name}: ${error}`);
    process.exit(1);
  }
}
end(client);
clearTimeout(limit);
process.exit(0);
