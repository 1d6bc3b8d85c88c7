// Counts the keys in a Redis: those of limits, those among them that never end, and those of the queue.

/** A clock that went back leaves keys with the hour on top: written ahead, they end later, but they end. */
const STEPPED_MS = 30 * 60_000;

export async function countKeys(redis) {
  const counts = { limits: 0, endless: 0, stepped: 0, queue: 0 };
  let cursor = '0';
  do {
    const [next, keys] = await redis.call('SCAN', cursor, 'COUNT', '1000');
    cursor = next;
    for (const key of keys) {
      if (key.startsWith('bull:') || key.includes('{queue:')) {
        counts.queue++;
        continue;
      }
      const leftMs = await redis.call('PTTL', key);
      if (leftMs > STEPPED_MS) counts.stepped++;
      else counts.limits++;
      if (leftMs === -1) counts.endless++;
    }
  } while (cursor !== '0');
  return counts;
}
