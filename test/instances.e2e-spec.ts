// Several instances on one Redis are one limiter; several without Redis are several.
import { uniquePrefix } from '../libs/rate-limit/test/support/redis-server';
import { type Answer, passed, RunningDemo, statuses } from './support/demo';

describe('two instances', () => {
  let instances: RunningDemo[];

  afterEach(async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
  });

  it.each([
    ['express', 'express'],
    ['fastify', 'fastify'],
    ['express', 'fastify'],
  ] as const)('%s and %s on one Redis let exactly one burst through', async (one, other) => {
    const keyPrefix = uniquePrefix();
    instances = [
      await RunningDemo.start({ adapter: one, keyPrefix }),
      await RunningDemo.start({ adapter: other, keyPrefix }),
    ];
    const answers = await alternating(10);
    expect(statuses(answers)).toEqual([...Array(5).fill(200), ...Array(5).fill(429)]);

    const reset = { method: 'DELETE', headers: { authorization: 'Bearer demo-admin' } };
    await instances[0].call('/admin/callers/snail', reset);
    expect(passed(await alternating(10))).toBe(5);
  });

  it('in memory have a burst each', async () => {
    const settings = { redisUrl: undefined };
    instances = [await RunningDemo.start(settings), await RunningDemo.start(settings)];
    expect(passed(await alternating(14))).toBe(10);
    expect((await instances[0].call('/health')).json.store).toBe('memory');
  });

  async function alternating(calls: number): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let i = 0; i < calls; i++) {
      answers.push(await instances[i % 2].call('/weather/oslo', { key: 'slow-key' }));
    }
    return answers;
  }
});
