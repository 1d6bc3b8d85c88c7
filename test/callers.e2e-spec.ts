// Whose bucket it is, and which row of the tier table holds.
import { ADAPTERS, RunningDemo } from './support/demo';

describe.each(ADAPTERS)('callers, %s', (adapter) => {
  let demo: RunningDemo;

  beforeEach(async () => {
    demo = await RunningDemo.start({ adapter });
  });
  afterEach(async () => {
    await demo.stop();
  });

  async function remaining(
    key?: string,
  ): Promise<[limit: string | null, remaining: string | null]> {
    const { headers } = await demo.call('/weather/oslo', { key });
    return [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')];
  }

  it.each([
    ['free-key', '20', '19'],
    ['pro-key', '200', '199'],
    ['enterprise-key', '2000', '1999'],
    ['slow-key', '5', '4'],
  ])('%s has the numbers of its tier', async (key, limit, left) => {
    expect(await remaining(key)).toEqual([limit, left]);
  });

  it('a caller without a key has the numbers of the free tier, by address', async () => {
    expect(await remaining()).toEqual(['20', '19']);
    expect((await demo.call('/me')).json).toMatchObject({ account: null, tier: 'free' });
  });

  it('a made-up key buys no bucket of its own: it is the address that pays', async () => {
    await demo.call('/forecast/oslo?days=15');
    for (const guess of ['guess-1', 'guess-2', 'constructor', '__proto__', 'FREE-KEY']) {
      await demo.call('/weather/oslo', { key: guess });
    }
    const { status } = await demo.call('/forecast/oslo?days=10', { key: 'guess-6' });
    expect(status).toBe(429);
  });

  it('accounts do not disturb each other, nor the address that they call from', async () => {
    await demo.call('/forecast/oslo?days=20', { key: 'free-key' });
    expect((await demo.call('/forecast/oslo?days=20', { key: 'free-key' })).status).toBe(429);
    expect((await demo.call('/forecast/oslo?days=20', { key: 'free-key-2' })).status).toBe(200);
    expect((await demo.call('/forecast/oslo?days=20')).status).toBe(200);
  });

  it('an address is not free to choose: X-Forwarded-For of a stranger changes nothing', async () => {
    await demo.call('/forecast/oslo?days=20', { headers: { 'x-forwarded-for': '203.0.113.1' } });
    const { status } = await demo.call('/forecast/oslo?days=20', {
      headers: { 'x-forwarded-for': '203.0.113.2' },
    });
    expect(status).toBe(429);
  });
});
