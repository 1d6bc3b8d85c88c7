// Checks what is asked for before it costs a place in the line.
import { BadRequestException, Injectable, type PipeTransform } from '@nestjs/common';
import { CITY_NAMES, temperature } from '../weather';

/** What a report is asked about. */
export interface ReportRequest {
  readonly city: string;
}

@Injectable()
export class ReportRequestPipe implements PipeTransform<unknown, ReportRequest> {
  transform(body: unknown): ReportRequest {
    const { city } = (body ?? {}) as Partial<ReportRequest>;
    if (typeof city === 'string' && temperature(city) !== undefined) return { city };
    throw new BadRequestException(`city: ${CITY_NAMES.join(', ')}`);
  }
}
