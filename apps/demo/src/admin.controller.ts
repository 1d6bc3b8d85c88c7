// Shows and fills a caller's bucket. A caller is the name of an account, or an address.
import { isIP } from 'node:net';
import {
  Controller,
  Delete,
  Get,
  Inject,
  NotFoundException,
  Param,
  UseGuards,
} from '@nestjs/common';
import { ipKey, RateLimiterService, SkipRateLimit, tenantKey } from 'nest-rate-limit';
import { accountNamed, DEFAULT_TIER } from './accounts';
import { AdminGuard } from './admin.guard';

@Controller('admin/callers')
@UseGuards(AdminGuard)
@SkipRateLimit('default')
export class AdminController {
  constructor(@Inject(RateLimiterService) private readonly limiter: RateLimiterService) {}

  /** `bucket: null` means that nothing is known of the caller: his bucket is full. */
  @Get(':caller')
  async show(@Param('caller') caller: string) {
    const { key, tier } = find(caller);
    return { caller, tier, bucket: await this.limiter.getInfo(key, { tier }) };
  }

  /** Fills all buckets of the caller, on every instance at once: they live in Redis. */
  @Delete(':caller')
  async reset(@Param('caller') caller: string) {
    await this.limiter.reset(find(caller).key);
    return this.show(caller);
  }
}

function find(caller: string): { key: string; tier: string } {
  const account = accountNamed(caller);
  if (account !== undefined) return { key: tenantKey(account.name), tier: account.tier };
  if (isIP(caller)) return { key: ipKey(caller), tier: DEFAULT_TIER };
  throw new NotFoundException(`${caller} is neither an account nor an address`);
}
