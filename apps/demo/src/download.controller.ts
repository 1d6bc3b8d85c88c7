// Something slow: a file that takes three seconds, whoever asks. What costs is how many run at once.
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, NotFoundException, Param, StreamableFile } from '@nestjs/common';
import { ConcurrencyLimit, Criticality } from 'nest-rate-limit';
import { CITY_NAMES, temperature } from './weather';

const DAYS = 30;
const DAY_MS = 100;

@Controller('downloads')
export class DownloadController {
  /** Two at a time for each caller, over all instances; the first to go when the service is busy. */
  @Get(':city')
  @ConcurrencyLimit({ name: 'downloads', max: 2 })
  @Criticality('sheddable')
  download(@Param('city') city: string): StreamableFile {
    if (temperature(city) === undefined) {
      throw new NotFoundException(`city: ${CITY_NAMES.join(', ')}`);
    }
    return new StreamableFile(Readable.from(days(city)), { type: 'text/csv' });
  }
}

async function* days(city: string): AsyncGenerator<string> {
  yield 'day,celsius\n';
  for (let day = 0; day < DAYS; day++) {
    await delay(DAY_MS);
    yield `${day},${temperature(city, day)}\n`;
  }
}
