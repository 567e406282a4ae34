// SPDX-License-Identifier: BSL-1.0
import Redis from 'ioredis';
import Redlock from 'redlock';
import { drive, task } from './node_driver.mjs';

const timeouts = task.variant === 'timeouts' ? { commandTimeout: 50 } : {};
const clients = task.nodes.map((node) => new Redis({ ...node, enableAutoPipelining: true, ...timeouts }));
const [low, high] = task.pauseMs ?? [];
const pause = task.pauseMs ? { retryDelay: low, retryJitter: high - low } : {}; // else 200 to 300 ms
const redlock = new Redlock(clients, { retryCount: -1, ...pause });

await drive((key) => ({
  acquire: () => redlock.lock(key, 10000),
  release: (held) => held.unlock(),
}));
