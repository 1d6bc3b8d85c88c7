// What is special about single routes of the demo.
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterService, tenantKey } from 'nest-rate-limit';
import { ADAPTERS, RunningDemo, statuses } from './support/demo';

const ADMIN = { authorization: 'Bearer demo-admin' };

describe.each(ADAPTERS)('routes, %s', (adapter) => {
  let demo: RunningDemo;

  beforeEach(async () => {
    demo = await RunningDemo.start({ adapter });
  });
  afterEach(async () => {
    await demo.stop();
  });

  describe('an expensive route', () => {
    it('takes what the request asks for, from the bucket that the cheap route uses', async () => {
      const { headers } = await demo.call('/forecast/oslo?days=3', { key: 'slow-key' });
      expect(headers.get('x-ratelimit-remaining')).toBe('2');
      expect((await demo.call('/forecast/oslo?days=3', { key: 'slow-key' })).status).toBe(429);
      expect((await demo.call('/weather/oslo', { key: 'slow-key' })).status).toBe(200);
    });

    it.each(['0', '-5', '101', 'NaN', '1e3', '', 'days'])(
      'answers 400 to days=%s and takes one token',
      async (days) => {
        const { status, headers } = await demo.call(`/forecast/oslo?days=${days}`, {
          key: 'free-key',
        });
        expect(status).toBe(400);
        expect(headers.get('x-ratelimit-remaining')).toBe('19');
      },
    );
  });

  describe('the login', () => {
    const tryAs = (email: string) =>
      demo.call('/login', { method: 'POST', body: { email, password: 'wrong' } });

    it('allows five tries an account, however it is typed, and spares the other accounts', async () => {
      const answers = [];
      for (const email of ['ada@example.org', 'Ada@Example.org', ' ada@example.org ']) {
        answers.push(await tryAs(email), await tryAs(email));
      }
      expect(statuses(answers)).toEqual([401, 401, 401, 401, 401, 429]);
      expect(answers[5].json['violated-policies']).toEqual(['login-account']);
      expect((await tryAs('grace@example.org')).status).toBe(401);
    });

    it('allows twenty tries an address; a refusal by one limit costs nothing at the other', async () => {
      for (let i = 0; i < 20; i++) expect((await tryAs(`user-${i}@example.org`)).status).toBe(401);
      for (let i = 0; i < 6; i++) {
        const { status, json } = await tryAs('ada@example.org');
        expect([status, json['violated-policies']]).toEqual([429, ['login-ip']]);
      }
    });

    it('lets the right password in', async () => {
      const body = { email: 'ada@example.org', password: 'enchantress' };
      for (let i = 0; i < 8; i++) {
        // What succeeds costs nothing, once its answer is out.
        expect((await demo.call('/login', { method: 'POST', body })).status).toBe(200);
        await delay(20);
      }
    });

    it('answers 400 to a body without an account', async () => {
      expect((await demo.call('/login', { method: 'POST', body: {} })).status).toBe(400);
    });
  });

  describe('a route that asks the limiter by hand', () => {
    it('gives what it has when the tokens are out', async () => {
      const answers = await demo.repeat(4, '/radar', { key: 'free-key' });
      expect(answers.map(({ json }) => json.fresh)).toEqual([true, true, true, false]);
      expect(answers[3].json.image).toBe('radar-3.png');
      expect(answers[3].json.nextAfterMs).toBeGreaterThan(0);
      expect(answers[3].json.nextAfterMs).toBeLessThanOrEqual(1000);
      expect((await demo.call('/radar', { key: 'pro-key' })).json.fresh).toBe(true);
    });
  });

  describe('the admin', () => {
    it('sees a bucket, and fills it', async () => {
      await demo.call('/forecast/oslo?days=5', { key: 'slow-key' });
      const path = '/admin/callers/snail';
      const seen = await demo.call(path, { headers: ADMIN });
      expect(seen.json).toEqual({
        caller: 'snail',
        tier: 'slow',
        bucket: { available: 0, rate: 1, capacity: 5 },
        configured: [],
      });

      const emptied = await demo.call(path, { headers: ADMIN, method: 'DELETE' });
      expect(emptied.json).toMatchObject({ caller: 'snail', tier: 'slow', bucket: null });
      expect((await demo.call('/forecast/oslo?days=5', { key: 'slow-key' })).status).toBe(200);
    });

    it('finds callers without a key by their address', async () => {
      await demo.call('/forecast/oslo?days=20');
      await demo.call('/admin/callers/127.0.0.1', { headers: ADMIN, method: 'DELETE' });
      expect((await demo.call('/forecast/oslo?days=20')).status).toBe(200);
    });

    it('is shut to everybody else, and knows only callers that can be', async () => {
      expect((await demo.call('/admin/callers/snail')).status).toBe(401);
      const guess = { authorization: 'Bearer demo-admin2' };
      expect((await demo.call('/admin/callers/snail', { headers: guess })).status).toBe(401);
      expect((await demo.call('/admin/callers/nobody', { headers: ADMIN })).status).toBe(404);
    });
  });

  describe('routes without a limit', () => {
    it('health is never limited and says where the buckets are', async () => {
      const answers = await demo.repeat(30, '/health', { key: 'slow-key' });
      expect(new Set(statuses(answers))).toEqual(new Set([200]));
      expect(answers[0].json).toEqual({ status: 'ok', store: 'redis' });
      expect(answers[0].headers.get('ratelimit')).toBeNull();
    });

    it('asking what is left takes nothing', async () => {
      await demo.call('/weather/oslo', { key: 'slow-key' });
      const answers = await demo.repeat(3, '/me', { key: 'slow-key' });
      for (const { json } of answers) {
        expect(json).toEqual({ account: 'snail', tier: 'slow', capacity: 5, left: 4 });
      }
    });

    it('the page is HTML that loads nothing from elsewhere', async () => {
      const { status, headers, text } = await demo.call('/');
      expect(status).toBe(200);
      expect(headers.get('content-type')).toMatch(/^text\/html/);
      expect(text).not.toMatch(/https?:|src=|@import/);
    });
  });
});

describe.each(ADAPTERS)('the limit of an address, %s', (adapter) => {
  let demo: RunningDemo;

  beforeEach(async () => {
    demo = await RunningDemo.start({ adapter, perIp: { rate: 0.01, capacity: 8 } });
  });
  afterEach(async () => {
    await demo.stop();
  });

  it('holds over all routes and keys, whatever their own limits say', async () => {
    const answers = [
      ...(await demo.repeat(2, '/weather/oslo', { key: 'pro-key' })),
      ...(await demo.repeat(2, '/forecast/oslo', { key: 'enterprise-key' })),
      ...(await demo.repeat(2, '/me')),
      ...(await demo.repeat(3, '/weather/lima', { key: 'free-key' })),
    ];
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 200, 200, 200, 429]);
    expect(answers[8].json['violated-policies']).toEqual(['ip']);
    expect((await demo.call('/health')).status).toBe(200);
  });

  it('charges no account for a call that it refuses', async () => {
    await demo.repeat(8, '/me');
    expect((await demo.call('/weather/oslo', { key: 'slow-key' })).status).toBe(429);
    const limiter = demo.app.get(RateLimiterService, { strict: false });
    expect(await limiter.getInfo(tenantKey('snail'), { tier: 'slow' })).toBeNull();
  });
});
