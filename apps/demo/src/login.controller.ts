// Two limits on one route: both must have a token left, and a refusal by one costs nothing at the other.
import { Body, Controller, HttpCode, Post, UnauthorizedException } from '@nestjs/common';
import { byBody, byIp, Criticality, RateLimit } from 'nest-rate-limit';

/** What an attempt to log in sends. */
interface Credentials {
  readonly email: string;
  readonly password?: unknown;
}

@Controller('login')
@Criticality('critical')
export class LoginController {
  // Many accounts from one address, and one account from many addresses; only what fails counts. Who spends an
  // account's five tries locks its owner out for a while: choose that number with both in mind.
  @Post()
  @HttpCode(200)
  @RateLimit({ name: 'login-ip', rate: 20, per: 'minute', key: byIp(), chargeOn: 'failure' })
  @RateLimit({
    name: 'login-account',
    rate: 5,
    per: 'minute',
    key: byBody('email'),
    chargeOn: 'failure',
  })
  login(@Body() { email, password }: Credentials) {
    if (email !== 'ada@example.org' || password !== 'enchantress') {
      throw new UnauthorizedException('wrong email or password');
    }
    return { welcome: email };
  }
}
