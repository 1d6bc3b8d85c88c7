// Builds reports at once while the caller has tokens, and later after that: nobody is refused.
import { Body, Controller, Inject, Post } from '@nestjs/common';
import { RateLimit } from 'nest-rate-limit';
import { deferTo } from 'nest-rate-limit/queue';
import { type ReportRequest, ReportRequestPipe } from './report-request.pipe';
import { REPORTS } from './report.processor';
import { type Report, Reports } from './reports';

@Controller('reports')
export class ReportController {
  constructor(@Inject(Reports) private readonly reports: Reports) {}

  /** 201 with the report, or 202 with the address where it will be. */
  @Post()
  @RateLimit({ name: 'reports', rate: 2, capacity: 4, onLimit: deferTo(REPORTS) })
  create(@Body(ReportRequestPipe) { city }: ReportRequest): Report {
    return this.reports.build(city);
  }
}
