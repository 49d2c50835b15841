// Cycles of node's redlock, each on a key of its own. A line that comes says how many tasks and for how long;
// the line that goes back says how many cycles there were, what they took, and how long the acquires were.
const { createInterface } = require("node:readline");
const { Redis } = require("ioredis");
const { default: Redlock } = require("redlock");

const TTL = 30_000;

async function run(redlock, tasks, name, span) {
  const until = performance.now() + span;
  const waits = [];
  const task = async (_, number) => {
    for (let cycle = 0; ; cycle++) {
      const began = performance.now();
      if (began > until && cycle) return;
      const lock = await redlock.acquire([`${name}:${number}:${cycle}`], TTL);
      waits.push((performance.now() - began) / 1000);
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: tasks }, task));
  return waits;
}

async function answer({ ports, tasks, warmUp, span }) {
  const servers = ports.map((port) => new Redis({ host: "127.0.0.1", port }));
  const redlock = new Redlock(servers);
  await run(redlock, tasks, "warm-up", warmUp * 1000);
  const used = process.cpuUsage();
  const began = performance.now();
  const waits = await run(redlock, tasks, "cycle", span * 1000);
  const elapsed = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(used);
  servers.forEach((server) => server.disconnect());
  return { waits, elapsed, used: (user + system) / 1e6 };
}

createInterface({ input: process.stdin })
  .on("line", async (line) => console.log(JSON.stringify(await answer(JSON.parse(line)))))
  .on("close", () => process.exit());
