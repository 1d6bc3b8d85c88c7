// Builds the reports that had to wait.
import { Inject } from '@nestjs/common';
import { type JobProcessor, RateLimitedProcessor } from 'nest-rate-limit/queue';
import { type ReportRequest } from './report-request.pipe';
import { type Report, Reports } from './reports';

/** The queue of reports. */
export const REPORTS = 'reports';

@RateLimitedProcessor(REPORTS)
export class ReportProcessor implements JobProcessor<{ body: ReportRequest }, Report> {
  constructor(@Inject(Reports) private readonly reports: Reports) {}

  process({ data }: { data: { body: ReportRequest } }): Report {
    return this.reports.build(data.body.city);
  }
}
