// An admin raises a customer's quota for an hour: on every instance, from the next call on.
import { uniquePrefix } from '../libs/rate-limit/test/support/redis-server';
import { ADAPTERS, passed, RunningDemo, statuses } from './support/demo';

const ADMIN = { authorization: 'Bearer demo-admin' };
const QUOTA = '/admin/callers/snail/quota';

describe.each(ADAPTERS)('a raised quota on %s', (adapter) => {
  let instances: RunningDemo[];

  beforeEach(async () => {
    const keyPrefix = uniquePrefix();
    instances = [
      await RunningDemo.start({ adapter, keyPrefix }),
      await RunningDemo.start({ adapter, keyPrefix }),
    ];
  });
  afterEach(async () => {
    await Promise.all(instances.map((instance) => instance.stop()));
  });

  it('holds on all instances, says so, and ends when it is lowered', async () => {
    const [one, other] = instances;
    const before = Date.now();
    const body = { rate: 500, capacity: 1000, reason: 'launch day' };
    const raised = await one.call(QUOTA, { method: 'PUT', headers: ADMIN, body });
    expect(raised.json.configured).toEqual([
      {
        policy: 'default',
        limit: { rate: 500, capacity: 1000 },
        reason: 'launch day',
        limitEndsAtMs: expect.any(Number),
      },
    ]);
    const [{ limitEndsAtMs }] = raised.json.configured;
    expect(limitEndsAtMs - before).toBeGreaterThanOrEqual(3_600_000);
    expect(limitEndsAtMs - before).toBeLessThan(3_610_000);

    const answers = await other.repeat(30, '/weather/oslo', { key: 'slow-key' });
    expect(passed(answers)).toBe(30);
    expect(answers[0].headers.get('ratelimit-policy')).toContain('"default";q=1000;w=2');
    expect(answers[0].headers.get('x-ratelimit-limit')).toBe('1000');

    await other.call(QUOTA, { method: 'DELETE', headers: ADMIN });
    const lowered = await one.repeat(8, '/weather/oslo', { key: 'slow-key' });
    expect(passed(lowered)).toBe(5);
    expect(lowered[0].headers.get('ratelimit-policy')).toContain('"default";q=5;w=5');
  });

  it('is checked: what makes no sense changes nothing', async () => {
    const [demo] = instances;
    for (const body of [{}, { rate: -1 }, { rate: 5, capacity: 0 }, { rate: 5, minutes: 0 }]) {
      const { status, json } = await demo.call(QUOTA, { method: 'PUT', headers: ADMIN, body });
      expect(status).toBe(400);
      expect(json.message).toMatch(/^configure: /);
    }
    expect((await demo.call(QUOTA, { method: 'PUT', body: { rate: 500 } })).status).toBe(401);
    expect(statuses(await demo.repeat(6, '/weather/oslo', { key: 'slow-key' }))).toEqual([
      ...Array(5).fill(200),
      429,
    ]);
  });
});
