// SPDX-License-Identifier: BSL-1.0
//
// Node's https and undici against beck-serve, with TLS 1.2 and 1.3, kept connections and resumed
// sessions.
// usage: tls_node.mjs URL ROOT_FILE
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { Agent, request } from 'undici';

const [url, rootFile] = process.argv.slice(2);
const ca = readFileSync(rootFile);

function get(options) {
  return new Promise((resolve, reject) => {
    const asked = https.get(url, { ca, ...options }, response => {
      const socket = response.socket;
      response.resume();
      response.on('end', () => resolve({
        status: response.statusCode, protocol: socket.getProtocol(), resumed: socket.isSessionReused(),
      }));
    });
    asked.on('error', reject);
  });
}

async function main() {
  for (const version of ['TLSv1.2', 'TLSv1.3']) {
    const agent = new https.Agent({ keepAlive: true, maxSockets: 4, minVersion: version, maxVersion: version });
    const all = await Promise.all(Array.from({ length: 40 }, () => get({ agent })));
    if (all.some(one => one.status !== 200 || one.protocol !== version)) throw new Error(JSON.stringify(all[0]));
    agent.destroy();
    const again = new https.Agent({ keepAlive: false, maxCachedSessions: 10, minVersion: version, maxVersion: version });
    const seen = [];
    for (let i = 0; i < 5; ++i) seen.push(await get({ agent: again }));
    if (!seen.at(-1).resumed) throw new Error(`${version}: no session is resumed`);
    console.log(`ok: ${version}: kept connections, resumed sessions`);
  }
  const dispatcher = new Agent({ connect: { ca } });
  const responses = await Promise.all(Array.from({ length: 100 }, async () => {
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    return statusCode;
  }));
  if (responses.some(status => status !== 200)) throw new Error(`undici: ${responses}`);
  console.log('ok: undici, 100 requests at once');
}

main().then(() => process.exit(0), error => {
  console.log(`FAILED: ${error}`);
  process.exit(1);
});
