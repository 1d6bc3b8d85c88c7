// Reports, and the page that tells what became of those that wait.
import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitQueueModule, RateLimitStatusModule } from 'nest-rate-limit/queue';
import { type Settings } from '../settings';
import { ReportController } from './report.controller';
import { ReportProcessor, REPORTS } from './report.processor';
import { Reports } from './reports';

@Module({})
export class ReportModule {
  static with({ keyPrefix }: Settings): DynamicModule {
    return {
      module: ReportModule,
      imports: [
        // No numbers: the route's own bucket paces its jobs.
        RateLimitQueueModule.register({ name: REPORTS, worker: { prefix: `${keyPrefix}-bull` } }),
        RateLimitStatusModule.forRoot(),
      ],
      controllers: [ReportController],
      providers: [Reports, ReportProcessor],
    };
  }
}
