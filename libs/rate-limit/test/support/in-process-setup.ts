// An in-process queue of mails on a clock of its own, and a record of its starts.
import { MemoryStore } from '../../src/store/memory/memory-store';
import { FakeClock } from '../../src/testing';
import type { InProcessJob } from '../../src/testing/queue/in-process-job';
import type { InProcessQueueOptions } from '../../src/testing/queue/in-process-options';
import type { InProcessQueue } from '../../src/testing/queue/in-process-queue';
import { openInProcessQueue } from '../../src/testing/queue/open-in-process-queue';

export interface Mail {
  to: string;
}

/** A queue that runs what `process` does, and notes when each job starts. */
export function working(
  options: Partial<InProcessQueueOptions<Mail>> = {},
  process: (job: InProcessJob<Mail>, context: { signal: AbortSignal }) => unknown = () => 'done',
) {
  const clock = new FakeClock();
  const epochMs = clock.nowMs();
  const store = new MemoryStore({ clock });
  const opened = openInProcessQueue(
    { name: 'mails', ...(options.policy === undefined && { rate: 10, capacity: 2 }), ...options },
    { clock, store },
  );
  const starts: [to: string, atMs: number][] = [];
  const work = () =>
    opened.work({
      process: (job, context) => {
        const seen = job as InProcessJob as InProcessJob<Mail>;
        starts.push([seen.data.to, clock.nowMs() - epochMs]);
        return process(seen, context);
      },
    });
  const queue = opened.queue as unknown as InProcessQueue<Mail, string>;
  return { clock, epochMs, store, opened, queue, starts, work };
}

export async function started(...args: Parameters<typeof working>) {
  const set = working(...args);
  await set.work();
  return set;
}

export const names = (count: number) => Array.from({ length: count }, (_, i) => ({ to: `${i}` }));
export const never = () => new Promise(() => undefined);

/** What a promise fails with; `undefined` when it does not. Caught at once, to be looked at later. */
export const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
