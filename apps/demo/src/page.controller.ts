// Serves the page of the demo.
import { Controller, Get, Header } from '@nestjs/common';
import { SkipRateLimit } from 'nest-rate-limit';
import { PAGE } from './page';

@Controller()
@SkipRateLimit('default')
export class PageController {
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  page(): string {
    return PAGE;
  }
}
