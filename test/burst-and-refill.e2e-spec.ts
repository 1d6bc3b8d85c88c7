// What a bucket does over HTTP: a burst at once, the rate after it, and a pause that is long enough.
import { setTimeout as delay } from 'node:timers/promises';
import { ADAPTERS, passed, retryAfterMs, RunningDemo, statuses } from './support/demo';

describe.each(ADAPTERS)('burst and refill, %s', (adapter) => {
  let demo: RunningDemo;

  beforeEach(async () => {
    demo = await RunningDemo.start({ adapter });
  });
  afterEach(async () => {
    await demo.stop();
  });

  it('lets 60 concurrent calls of a free key through up to 20 + 10 a second', async () => {
    const start = performance.now();
    const ends: number[] = [];
    const answers = await Promise.all(
      Array.from({ length: 60 }, async () => {
        const answer = await demo.call('/weather/oslo', { key: 'free-key' });
        ends.push(performance.now());
        return answer;
      }),
    );
    const shortest = (Math.max(...ends) - Math.min(...ends)) / 1000;
    const longest = (Math.max(...ends) - start) / 1000;

    expect(passed(answers)).toBeGreaterThanOrEqual(20 + Math.floor(10 * shortest) - 1);
    expect(passed(answers)).toBeLessThanOrEqual(20 + Math.floor(10 * longest) + 1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(statuses(refused))).toEqual(new Set([429]));
    expect(new Set(refused.map(({ headers }) => headers.get('retry-after')))).toEqual(
      new Set(['1']),
    );

    await delay(retryAfterMs(refused[0]));
    expect((await demo.call('/weather/oslo', { key: 'free-key' })).status).toBe(200);
  });

  it('lets exactly the burst of a slow key through, and after Retry-After the next', async () => {
    const answers = await demo.repeat(7, '/weather/oslo', { key: 'slow-key' });
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 429, 429]);

    await delay(retryAfterMs(answers[6]));
    expect((await demo.call('/weather/oslo', { key: 'slow-key' })).status).toBe(200);
  });

  it('tells a wait that is long enough for a cost above 1, and not needlessly long', async () => {
    await demo.repeat(5, '/weather/oslo', { key: 'slow-key' });
    const refused = await demo.call('/forecast/oslo?days=2', { key: 'slow-key' });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('2');

    await delay(retryAfterMs(refused));
    expect((await demo.call('/forecast/oslo?days=2', { key: 'slow-key' })).status).toBe(200);
  });
});
