// Who the caller is and what he has left. Asking is free: @SkipRateLimit leaves only the limit of his address.
import { Controller, Get, Inject, Req } from '@nestjs/common';
import { RateLimiterService, SkipRateLimit } from 'nest-rate-limit';
import { accountOf, type Asking, DEFAULT_TIER, keyOf } from './accounts';
import { TIERS } from './limits';

@Controller('me')
@SkipRateLimit('default')
export class MeController {
  constructor(@Inject(RateLimiterService) private readonly limiter: RateLimiterService) {}

  @Get()
  async me(@Req() request: Asking) {
    const account = accountOf(request);
    const tier = account?.tier ?? DEFAULT_TIER;
    const { capacity } = TIERS[tier];
    const info = await this.limiter.getInfo(keyOf(request), { tier });
    // Nothing known of a caller means that nothing is missing from his bucket.
    return { account: account?.name ?? null, tier, capacity, left: info?.available ?? capacity };
  }
}
