// Locks as node's redlock has them. Each line that comes is a wish, and gets a line that says what came of it.
const { createInterface } = require("node:readline");
const { Redis } = require("ioredis");
const { default: Redlock, ExecutionError, ResourceLockedError } = require("redlock");

const clients = new Map();
const locks = new Map();

function redlock(port) {
  if (!clients.has(port)) clients.set(port, new Redis({ host: "127.0.0.1", port }));
  return new Redlock([clients.get(port)], { retryCount: 0, retryDelay: 10, retryJitter: 0 });
}

const wishes = {
  async acquire(port, key, ttl, retryCount) {
    locks.set(key, await redlock(port).acquire([key], ttl, { retryCount }));
  },
  async release(port, key) {
    await locks.get(key).release();
  },
};

// Whether it failed because the lock is somebody else's, and for no other reason.
async function isTheirs(error) {
  if (!(error instanceof ExecutionError)) return false;
  const votes = (await Promise.all(error.attempts)).flatMap((attempt) => [...attempt.votesAgainst.values()]);
  return votes.length > 0 && votes.every((vote) => vote instanceof ResourceLockedError);
}

async function answer(line) {
  const [wish, ...facts] = JSON.parse(line);
  try {
    await wishes[wish](...facts);
    return true;
  } catch (error) {
    return (await isTheirs(error)) ? false : String(error.stack);
  }
}

createInterface({ input: process.stdin })
  .on("line", async (line) => console.log(JSON.stringify(await answer(line))))
  .on("close", () => process.exit());
