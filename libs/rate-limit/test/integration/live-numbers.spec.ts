// Tiers and policies that get other numbers while requests come in.
import { Controller, Get, UseGuards } from '@nestjs/common';
import {
  InvalidLimitError,
  RateLimit,
  RateLimitGuard,
  RateLimiterService,
  RateLimitModule,
  UnknownPolicyError,
} from 'nest-rate-limit';
import { ADAPTERS, type App, closeApps, startApp, times } from '../support/nest-app';

@Controller()
@UseGuards(RateLimitGuard)
class Shop {
  @Get('plain')
  plain() {
    return 'plain';
  }

  @Get('tiered')
  @RateLimit({ name: 'tiered' })
  tiered() {
    return 'tiered';
  }

  @Get('search')
  @RateLimit('search')
  search() {
    return 'search';
  }

  @Get('own')
  @RateLimit({ rate: 0.001, capacity: 1, name: 'own' })
  own() {
    return 'own';
  }
}

const SLOW = { rate: 0.001, capacity: 2 };

afterEach(closeApps);

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  let app: App;
  let limiter: RateLimiterService;
  beforeEach(async () => {
    app = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({
            tiers: { free: SLOW, pro: { rate: 1, capacity: 7 } },
            defaultTier: 'free',
            policies: { search: { ...SLOW, localShare: 0.5 } },
          }),
        ],
        controllers: [Shop],
      },
      { adapter },
    );
    limiter = app.nest.get(RateLimiterService);
  });

  it('a tier reaches every route that takes its numbers from it, and the service', async () => {
    limiter.setTier('free', { rate: 0.001, capacity: 4 });
    expect(await app.statuses(5, '/plain')).toEqual([...times(4, 200), 429]);
    expect(await app.statuses(5, '/tiered')).toEqual([...times(4, 200), 429]);
    const { headers } = await app.get('/tiered');
    expect(headers['ratelimit-policy']).toBe('"tiered";q=4;w=4000');
    expect(await limiter.peek('x', { tier: 'free' })).toMatchObject({ limit: 4 });
    expect(await limiter.peek('x', { tier: 'pro' })).toMatchObject({ limit: 7 });
    expect(await app.statuses(2, '/own')).toEqual([200, 429]);
  });

  it('a policy is one bucket with other numbers, tokens carried over', async () => {
    expect(await app.statuses(3, '/search')).toEqual([200, 200, 429]);
    limiter.setPolicy('search', { rate: 1000, per: 1, capacity: 3 });
    expect((await app.get('/search')).status).toBe(200);
    limiter.setPolicy('search', { rate: 0.001, capacity: 1 });
    expect(await app.statuses(2, '/search')).toEqual([200, 429]);
  });

  it.each([
    ['setTier', 'gold', SLOW, UnknownPolicyError, 'tier "gold" is not registered'],
    ['setPolicy', 'serach', SLOW, UnknownPolicyError, 'policy "serach" is not registered'],
    ['setTier', 'free', { rate: 0 }, InvalidLimitError, 'setTier("free"): rate 0'],
    ['setPolicy', 'search', { rate: '5' }, InvalidLimitError, 'setPolicy("search"): rate "5"'],
    [
      'setPolicy',
      'search',
      { rate: 5, name: 'x' },
      InvalidLimitError,
      'name "x" cannot be changed',
    ],
  ] as const)(
    'refuses %s(%j, %j) and changes nothing',
    async (call, name, limit, error, message) => {
      const set = () => limiter[call](name, limit as never);
      expect(set).toThrow(error);
      expect(set).toThrow(message);
      expect(await app.statuses(3, '/search')).toEqual([200, 200, 429]);
      expect(await app.statuses(3, '/plain')).toEqual([200, 200, 429]);
    },
  );
});
