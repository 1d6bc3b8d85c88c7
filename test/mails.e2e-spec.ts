// Mails wait their turn in front of a provider that counts what it has to refuse.
import { ADAPTERS, RunningDemo } from './support/demo';

describe.each(ADAPTERS)('mails on %s', (adapter) => {
  let demo: RunningDemo;
  afterEach(() => demo.stop());

  it('all arrive, none is refused, at the pace of the provider', async () => {
    demo = await RunningDemo.start({ adapter, mailsPerSecond: 25 });
    const mails = Array.from({ length: 100 }, (_, i) => ({ to: `user${i}@example.org` }));
    const startedAt = performance.now();
    const { status, json } = await demo.call('/mails', { method: 'POST', body: mails });
    expect(status).toBe(202);
    expect(json).toHaveLength(100);
    // Four at once, then one every 40 ms: the last is known to start after 96 × 40 ms, and what submitting took.
    expect(json[99].startsAt - json[0].startsAt).toBeGreaterThanOrEqual(3800);
    expect(json[99].startsAt - json[0].startsAt).toBeLessThanOrEqual(4300);
    let provider = { accepted: 0, refused: 0 };
    while (provider.accepted < 100 && performance.now() - startedAt < 15_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      provider = (await demo.call('/mails', { key: 'enterprise-key' })).json.provider;
    }
    const tookMs = performance.now() - startedAt;
    expect(provider).toEqual({ accepted: 100, refused: 0 });
    expect(tookMs).toBeGreaterThanOrEqual(3800);
  });

  it('are checked before they are accepted', async () => {
    demo = await RunningDemo.start({ adapter });
    const { status } = await demo.call('/mails', { method: 'POST', body: { to: 'nobody' } });
    expect(status).toBe(400);
    expect((await demo.call('/mails')).json.queue.waiting).toBe(0);
  });

  it('need Redis, and say so', async () => {
    demo = await RunningDemo.start({ adapter, redisUrl: undefined });
    for (const path of ['/mails', '/reports']) {
      const { status, json } = await demo.call(path, { method: 'POST', body: {} });
      expect(status).toBe(503);
      expect(json.message).toContain('set REDIS_URL');
    }
  });
});
