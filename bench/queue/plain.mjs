// BullMQ as it comes.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

function connect(redis) {
  return new Redis(redis, { maxRetriesPerRequest: null });
}

export function openQueue({ redis, name }) {
  const connection = connect(redis);
  const queue = new Queue(name, { connection });
  return {
    queue,
    close: async () => {
      await queue.close();
      connection.disconnect();
    },
  };
}

export async function openWorker({ redis, name, process, limiter, concurrency = 10 }) {
  const connection = connect(redis);
  const worker = new Worker(name, async (job) => process(job), {
    connection,
    limiter,
    concurrency,
  });
  await worker.waitUntilReady();
  return {
    close: async () => {
      await worker.close();
      connection.disconnect();
    },
  };
}
