// Lets only the operator in. Runs after the rate limit, so guessing the token is limited by address.
import { createHash, timingSafeEqual } from 'node:crypto';
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { type Asking } from './accounts';
import { type Settings } from './settings';

/** Where the settings of the demo are injected. */
export const SETTINGS = Symbol('settings');

@Injectable()
export class AdminGuard implements CanActivate {
  constructor(@Inject(SETTINGS) private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<Asking>();
    const wanted = digest(`Bearer ${this.settings.adminToken}`);
    if (timingSafeEqual(digest(String(headers.authorization)), wanted)) return true;
    throw new UnauthorizedException('send authorization: Bearer and the admin token');
  }
}

/** Equally long for every text, as the comparison needs it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
