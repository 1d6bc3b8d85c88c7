// Shows and fills a caller's bucket, and raises his quota for a while. A caller is the name of an account, or an address.
import { isIP } from 'node:net';
import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Inject,
  NotFoundException,
  Param,
  Put,
  UseGuards,
} from '@nestjs/common';
import {
  InvalidLimitError,
  ipKey,
  RateLimiterService,
  SkipRateLimit,
  tenantKey,
} from 'nest-rate-limit';
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
    const [bucket, configured] = await Promise.all([
      this.limiter.getInfo(key, { tier }),
      this.limiter.configurations(key),
    ]);
    return { caller, tier, bucket, configured };
  }

  /** Other numbers for one customer, on every instance from the next call on; they end by themselves. */
  @Put(':caller/quota')
  async raise(@Param('caller') caller: string, @Body() body: unknown) {
    const { rate, capacity, minutes = 60, reason } = (body ?? {}) as Record<string, never>;
    try {
      await this.limiter.configure(
        find(caller).key,
        { rate, capacity },
        { ttlMs: minutes * 60_000, reason },
      );
    } catch (error) {
      if (InvalidLimitError.is(error)) throw new BadRequestException(error.message);
      throw error;
    }
    return this.show(caller);
  }

  /** The plan's numbers hold again. */
  @Delete(':caller/quota')
  async lower(@Param('caller') caller: string) {
    await this.limiter.clearConfiguration(find(caller).key);
    return this.show(caller);
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
