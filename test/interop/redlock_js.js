// SPDX-License-Identifier: BSL-1.0
// The npm package redlock on several servers, driven by lines on standard input: see ../integration/interop_partner.hpp.
// redlock_js.js MODULES VERSION PORT...
'use strict';

const path = require('path');
const readline = require('readline');

const [modules, version, ...ports] = process.argv.slice(2);
const load = (name) => require(path.join(modules, 'node_modules', name));
const Redis = load('ioredis');
const servers = ports.map((port) => new Redis(Number(port), '127.0.0.1'));
const once = { retryCount: 0 };

// The two major versions name their operations differently.
function versionFour() {
    const Redlock = load('redlock4');
    const locks = new Redlock(servers, once);
    return {
        acquire: (name, ttl) => locks.lock(name, ttl),
        adopt: (name, value) => new Redlock.Lock(locks, [name], value, Date.now() + 60000),
        release: (lock) => lock.unlock(),
    };
}

function versionFive() {
    const { default: Redlock, Lock } = load('redlock');
    const locks = new Redlock(servers, once);
    locks.on('error', () => {}); // each refusal is also told here
    return {
        acquire: (name, ttl) => locks.acquire([name], ttl),
        adopt: (name, value) => new Lock(locks, [name], value, [], Date.now() + 60000),
        release: (lock) => lock.release(),
    };
}

const face = version === '4' ? versionFour() : versionFive();
let lock;

const commands = {
    async acquire(name, ttl) {
        try {
            lock = await face.acquire(name, Number(ttl));
        } catch (refused) {
            return 'busy';
        }
        return 'held ' + lock.value;
    },
    async adopt(name, value) {
        lock = face.adopt(name, value);
        return 'adopted';
    },
    async extend(ttl) {
        lock = await lock.extend(Number(ttl));
        return 'extended';
    },
    async release() {
        await face.release(lock);
        return 'released';
    },
};

async function main() {
    console.log('ready');
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const [command, ...words] = line.split(' ');
        console.log(await commands[command](...words).catch((error) => 'failed ' + error.message));
    }
    servers.forEach((server) => server.disconnect());
}

main();
