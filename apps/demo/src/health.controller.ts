// For the load balancer, which must never be told 429, nor 503 because others call too much.
import { Controller, Get, Inject } from '@nestjs/common';
import { Criticality, SkipRateLimit } from 'nest-rate-limit';
import { SETTINGS } from './admin.guard';
import { type Settings } from './settings';

@Controller('health')
@SkipRateLimit()
@Criticality('critical')
export class HealthController {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  @Get()
  health() {
    return { status: 'ok', store: this.settings.redisUrl === undefined ? 'memory' : 'redis' };
  }
}
