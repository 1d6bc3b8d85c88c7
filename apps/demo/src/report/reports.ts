// What a report is, and how one is built. Knows nothing of HTTP or queues.
import { Injectable } from '@nestjs/common';
import { temperature } from '../weather';

const DAYS = 30;

/** The month to come in one city. */
export interface Report {
  readonly city: string;
  readonly coldest: number;
  readonly warmest: number;
  readonly average: number;
}

/** Builds reports: the same for a call that is served at once and for one that waited. */
@Injectable()
export class Reports {
  build(city: string): Report {
    const month = Array.from({ length: DAYS }, (_, day) => temperature(city, day) ?? NaN);
    return {
      city,
      coldest: Math.min(...month),
      warmest: Math.max(...month),
      average: month.reduce((sum, celsius) => sum + celsius, 0) / DAYS,
    };
  }
}
