// Accepts mails faster than anyone may send them: they wait their turn in the queue.
import { BadRequestException, Body, Controller, Get, HttpCode, Inject, Post } from '@nestjs/common';
import { InjectRateLimitedQueue, type RateLimitedQueue } from 'nest-rate-limit/queue';
import { MailProvider } from './mail-provider';
import { type Mail, MAILS } from './mail.processor';

@Controller('mails')
export class MailController {
  constructor(
    @InjectRateLimitedQueue(MAILS) private readonly mails: RateLimitedQueue<Mail>,
    @Inject(MailProvider) private readonly provider: MailProvider,
  ) {}

  /** Takes one mail or a list of them; says when each will be sent. */
  @Post()
  @HttpCode(202)
  async send(@Body() body: unknown) {
    const mails = (Array.isArray(body) ? body : [body]).map(checked);
    const tickets = await this.mails.submitMany(mails.map((data) => ({ data })));
    return tickets.map(({ id, startsAt, position }) => ({ id, startsAt, position }));
  }

  /** What is where, and what the provider had to refuse. */
  @Get()
  async counts() {
    return { queue: await this.mails.counts(), provider: this.provider.counts };
  }
}

function checked(mail: unknown): Mail {
  const { to, subject = '' } = (mail ?? {}) as Partial<Mail>;
  if (typeof to === 'string' && to.includes('@') && typeof subject === 'string') {
    return { to, subject };
  }
  throw new BadRequestException('to: an address; subject: a text');
}
