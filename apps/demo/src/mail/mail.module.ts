// Outbound mails behind a provider that allows a few a second.
import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitQueueModule } from 'nest-rate-limit/queue';
import { type Settings } from '../settings';
import { MailProvider } from './mail-provider';
import { MailController } from './mail.controller';
import { type Mail, MailProcessor, MAILS } from './mail.processor';

@Module({})
export class MailModule {
  static with({ keyPrefix, mailsPerSecond }: Settings): DynamicModule {
    return {
      module: MailModule,
      imports: [
        RateLimitQueueModule.register<Mail>({
          name: MAILS,
          rate: mailsPerSecond,
          // One less than the provider's burst: what the network delays must not arrive as one too many.
          capacity: 4,
          worker: { prefix: `${keyPrefix}-bull` },
        }),
      ],
      controllers: [MailController],
      providers: [
        { provide: MailProvider, useFactory: () => new MailProvider(mailsPerSecond) },
        MailProcessor,
      ],
    };
  }
}
