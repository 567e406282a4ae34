// SPDX-License-Identifier: BSL-1.0
import Redis from 'ioredis';
import { createLock, createRedlock, IoredisAdapter } from 'redlock-universal';
import { drive, task } from './node_driver.mjs';

const timeouts = task.variant === 'timeouts' ? { commandTimeout: 50 } : {};
const adapters = task.nodes.map((node) => new IoredisAdapter(new Redis({ ...node, enableAutoPipelining: true, ...timeouts })));
const pause = task.pauseMs ? { retryDelay: (task.pauseMs[0] + task.pauseMs[1]) / 2 } : {}; // else 200 ms
const common = { ttl: 10000, retryAttempts: 1e6, ...pause };

await drive((key) => {
  const lock = adapters.length === 1
    ? createLock({ adapter: adapters[0], key, ...common, performance: 'lean' })
    : createRedlock({ adapters, key, ...common });
  const release = async (held) => { if (!(await lock.release(held))) throw new Error('it was no longer held'); };
  return { acquire: () => lock.acquire(), release };
});
