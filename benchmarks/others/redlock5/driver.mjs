// SPDX-License-Identifier: BSL-1.0
import { createRequire } from 'node:module';
import Redis from 'ioredis';
import { drive, task } from './node_driver.mjs';

const { default: Redlock } = createRequire(import.meta.url)('redlock');
const timeouts = task.variant === 'timeouts' ? { commandTimeout: 50 } : {};
const clients = task.nodes.map((node) => new Redis({ ...node, enableAutoPipelining: true, ...timeouts }));
const [low, high] = task.pauseMs ?? [];
const pause = task.pauseMs ? { retryDelay: (low + high) / 2, retryJitter: (high - low) / 2 } : {}; // else 200 +- 100 ms
const redlock = new Redlock(clients, pause);
redlock.on('error', () => {}); // every refusal is told here too

await drive((key) => ({
  acquire: () => redlock.acquire([key], 10000, { retryCount: -1 }),
  release: (held) => held.release(),
}));
