// Puts the demo together: the limits for the whole application, the guard in front of every route.
import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { LoadSheddingModule, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { AdminController } from './admin.controller';
import { SETTINGS } from './admin.guard';
import { DownloadController } from './download.controller';
import { HealthController } from './health.controller';
import { limitsOf, sheddingOf } from './limits';
import { LoginController } from './login.controller';
import { MailModule } from './mail/mail.module';
import { MeController } from './me.controller';
import { NoQueueController } from './no-queue.controller';
import { PageController } from './page.controller';
import { PatientShutdown } from './patient-shutdown';
import { RadarController } from './radar.controller';
import { ReportModule } from './report/report.module';
import { type Settings } from './settings';
import { WeatherController } from './weather.controller';

@Module({
  controllers: [
    AdminController,
    DownloadController,
    HealthController,
    LoginController,
    MeController,
    PageController,
    RadarController,
    WeatherController,
  ],
})
export class DemoModule {
  static with(settings: Settings): DynamicModule {
    // Queued work must outlive this process, so it needs Redis.
    const queues = settings.redisUrl !== undefined;
    return {
      module: DemoModule,
      imports: [
        RateLimitModule.forRoot(limitsOf(settings)),
        LoadSheddingModule.forRoot(sheddingOf(settings)),
        ...(queues ? [MailModule.with(settings), ReportModule.with(settings)] : []),
      ],
      controllers: queues ? [] : [NoQueueController],
      providers: [
        { provide: APP_GUARD, useClass: RateLimitGuard },
        { provide: SETTINGS, useValue: settings },
        PatientShutdown,
      ],
    };
  }
}
