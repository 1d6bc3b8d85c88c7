// Sends the mails of the queue, one call of the provider each.
import { Inject } from '@nestjs/common';
import { type JobProcessor, RateLimitedProcessor, RetryKeyLater } from 'nest-rate-limit/queue';
import { MailProvider } from './mail-provider';

/** The queue of outbound mails. */
export const MAILS = 'mails';

/** A mail to be sent. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
}

@RateLimitedProcessor(MAILS)
export class MailProcessor implements JobProcessor<Mail, { status: number }> {
  constructor(@Inject(MailProvider) private readonly provider: MailProvider) {}

  async process({ data }: { data: Mail }): Promise<{ status: number }> {
    const { status, headers } = await fetch(await this.provider.url(), {
      method: 'POST',
      body: JSON.stringify(data),
    });
    // The queue keeps below the provider's limit; should another program use it up, all mails wait.
    if (status === 429) throw new RetryKeyLater(Number(headers.get('retry-after') ?? 1) * 1000);
    if (status >= 300) throw new Error(`the mail provider answered ${status}`);
    return { status };
  }
}
