// Stands in for the queued routes where there is no Redis.
import { All, Controller, ServiceUnavailableException } from '@nestjs/common';

@Controller(['mails', 'reports'])
export class NoQueueController {
  @All()
  unavailable(): never {
    throw new ServiceUnavailableException(
      'this route queues its work in Redis, and the demo runs without one: set REDIS_URL',
    );
  }
}
