// SPDX-License-Identifier: BSL-1.0
import Redis from 'ioredis';
import { RedlockSemaphore, Semaphore } from 'redis-semaphore';
import { drive, task } from './node_driver.mjs';

const clients = task.nodes.map((node) => new Redis({ ...node, enableAutoPipelining: true }));
const options = task.pauseMs ? { retryInterval: (task.pauseMs[0] + task.pauseMs[1]) / 2 } : {}; // else 10 ms

await drive((key) => {
  const permit = clients.length === 1
    ? new Semaphore(clients[0], key, task.permits, options)
    : new RedlockSemaphore(clients, key, task.permits, options);
  return { acquire: () => permit.acquire(), release: () => permit.release() };
});
