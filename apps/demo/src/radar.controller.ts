// A route that asks the limiter by hand, because it has something better to do than to refuse.
import { Controller, Get, Inject, Req } from '@nestjs/common';
import { RateLimiterService } from 'nest-rate-limit';
import { type Asking, keyOf } from './accounts';

@Controller('radar')
export class RadarController {
  #image = 0;

  constructor(@Inject(RateLimiterService) private readonly limiter: RateLimiterService) {}

  /** A new image while the customer's share of the radar lasts, else the last one and how long it will be. */
  @Get()
  async image(@Req() request: Asking) {
    const decision = await this.limiter.consume(keyOf(request), 'radar');
    if (decision.allowed) this.#image++;
    return {
      image: `radar-${this.#image}.png`,
      fresh: decision.allowed,
      nextAfterMs: decision.retryAfterMs,
    };
  }
}
