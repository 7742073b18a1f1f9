// SPDX-License-Identifier: Apache-2.0
// Big Buffers and typed arrays, JSON, a worker that shares memory.
'use strict';
const crypto = require('crypto');
const { Worker, isMainThread, workerData } = require('worker_threads');
const MIB = 1 << 20;

const sha = (b) => crypto.createHash('sha256').update(b).digest('hex');

function inWorker() {
	const shared = new Uint32Array(workerData);
	for (let i = 0; i < shared.length; i++)
		shared[i] = (i * 2654435761) >>> 0;
}

function inMain() {
	const big = Buffer.alloc(144 * MIB);
	for (let i = 0; i < big.length; i += 4096)
		big.writeUInt32LE(i, i);
	for (let i = 0; i < big.length; i += 2 * MIB)
		big[i + 99] ^= 0x5a;
	console.log(sha(big), sha(Buffer.from(big.subarray(40 * MIB, 60 * MIB))));
	const rows = Array.from({ length: 100000 },
		(_, i) => ({ id: i, name: 'row ' + i, tags: [i % 3, i % 7] }));
	const text = JSON.stringify(rows);
	console.log(text.length, sha(text), JSON.parse(text)[77777].name);
	const shared = new SharedArrayBuffer(32 * MIB);
	new Worker(__filename, { workerData: shared }).on('exit', (code) =>
		console.log(code, sha(Buffer.from(shared))));
}

if (isMainThread)
	inMain();
else
	inWorker();
