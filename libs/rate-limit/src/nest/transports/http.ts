// HTTP: refusals are exceptions that the frameworks answer.
import { HttpCaller, onDisconnect } from './http-caller';
import type { TransportAdapter } from './transport';

export const http: TransportAdapter = {
  caller: (context, proxies) => new HttpCaller(context, proxies),
  refusal: (exception) => exception,
  onGone: ({ res }, gone) => onDisconnect(res, gone),
};
