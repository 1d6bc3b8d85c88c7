// The product: a cheap route and an expensive one. Both take from the caller's one bucket.
import {
  BadRequestException,
  Controller,
  Get,
  NotFoundException,
  Param,
  Query,
} from '@nestjs/common';
import { type Caller, RateLimit } from 'nest-rate-limit';
import { CITY_NAMES, temperature } from './weather';

const MOST_DAYS = 100;

/** Days that were asked for; `undefined` when that makes no sense. */
function daysAsked(text: unknown): number | undefined {
  if (text === undefined) return 3;
  const days = typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return days >= 1 && days <= MOST_DAYS ? days : undefined;
}

@Controller()
export class WeatherController {
  /** Undecorated: one token of the caller's plan. */
  @Get('weather/:city')
  now(@Param('city') city: string) {
    return { city, celsius: known(city) };
  }

  /** A token a day of forecast. What the handler will refuse costs one. */
  @Get('forecast/:city')
  @RateLimit({ cost: ({ query }: Caller) => daysAsked(query?.days) ?? 1 })
  forecast(@Param('city') city: string, @Query('days') text?: string) {
    const days = daysAsked(text);
    if (days === undefined) throw new BadRequestException(`days: 1 to ${MOST_DAYS}`);
    known(city);
    return { city, celsius: Array.from({ length: days }, (_, day) => temperature(city, day + 1)) };
  }
}

function known(city: string): number {
  const celsius = temperature(city);
  if (celsius === undefined) throw new NotFoundException(`city: ${CITY_NAMES.join(', ')}`);
  return celsius;
}
