// The end of a call whose client has left. Nobody reads it: it only keeps the handler from starting.
import { HttpException } from '@nestjs/common';

const CLIENT_CLOSED_REQUEST = 499;

/** To throw in place of going on. */
export function clientIsGone(): HttpException {
  return new HttpException('the client closed the connection', CLIENT_CLOSED_REQUEST);
}
