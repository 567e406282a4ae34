// SPDX-License-Identifier: BSL-1.0
// The drivers' common line protocol (README.md), for those in Node. A driver gives {acquire, release} for a key.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const workersSampled = 16;

function parse(words) {
  const out = { workload: 'cycles', workers: 1, permits: 1, holdUs: 0, variant: '' };
  for (let i = 0; i + 1 < words.length; i += 2) {
    const name = words[i].replace(/^--/, '').replace(/-(.)/g, (_, letter) => letter.toUpperCase());
    out[name] = /^(workers|permits|holdUs)$/.test(name) ? Number(words[i + 1]) : words[i + 1];
  }
  out.nodes = out.nodes.split(',').map((each) => ({ host: each.split(':')[0], port: Number(each.split(':')[1]) }));
  if (out.pauseMs) out.pauseMs = out.pauseMs.split('-').map(Number);
  return out;
}

/** CLOCK_MONOTONIC; a double holds nanoseconds exactly for a hundred days of uptime. */
function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e9 + nanoseconds;
}

const pause = (ms) => new Promise((resume) => setTimeout(resume, ms));

function startTime() {
  console.log('ready');
  return new Promise((resume) => {
    createInterface({ input: process.stdin }).once('line', (line) => resume(line.split(' ').map(Number)));
  });
}

export const task = parse(process.argv.slice(2));

export async function drive(lockFor) {
  const failures = {};
  const samples = [];
  let done = 0;
  const fail = (error) => { failures[error.message] = (failures[error.message] ?? 0) + 1; };
  const key = (worker) => (task.workload !== 'cycles' ? `contended:${task.run}` : `own:${task.run}:${worker}`);

  const warm = lockFor(`warm:${task.run}:${now()}`);
  await warm.release(await warm.acquire());
  const [begins, ends] = await startTime();

  async function cycle(lock, worker) {
    const asked = now();
    const held = await lock.acquire();
    const granted = now();
    if (task.holdUs > 0) await pause(task.holdUs / 1000);
    const releasing = now();
    await lock.release(held);
    const released = now();
    if (released < begins || released >= ends) return;
    done += 1;
    if (task.workload !== 'cycles' || worker < workersSampled) samples.push(worker, asked, granted, releasing, released);
  }

  async function work(worker) {
    const lock = lockFor(key(worker));
    do {
      try { await cycle(lock, worker); } catch (error) { fail(error); await pause(0); }
    } while (task.workload !== 'convoy' && now() < ends);
  }

  /** A round ends when all workers have had their turn, or, unless they are a convoy, with the window. */
  async function rounds() {
    while (now() < ends) await Promise.all(Array.from({ length: task.workers }, (_, worker) => work(worker)));
  }

  function finish() {
    writeFileSync(task.samples, Buffer.from(BigInt64Array.from(samples, (each) => BigInt(each)).buffer));
    process.stdout.write(JSON.stringify({ done, failures }) + '\n', () => process.exit(0));
  }

  rounds();
  setTimeout(finish, (ends - now()) / 1e6);
}
