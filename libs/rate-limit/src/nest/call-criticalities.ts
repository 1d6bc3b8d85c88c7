// How much a call matters: what the application's function says of it, else what its handler or class says.
import type { ExecutionContext } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import { type Criticality, isCriticality } from '../limiter/criticality';
import { recordedCriticality } from './criticality.decorator';
import type { OfCall } from './rate-limit.options';
import { HttpCaller } from './transports/http-caller';
import { ProxyWatch } from './transports/proxy-watch';

/** Finds the criticality of HTTP calls. What is wrong with the function is reported, and changes nothing. */
export class CallCriticalities {
  readonly #proxies = new ProxyWatch();

  constructor(
    private readonly criticalityOf: OfCall<Criticality | undefined> | undefined,
    private readonly report: (error: unknown) => void,
  ) {}

  of(context: ExecutionContext): MaybePromise<Criticality> {
    const recorded = recordedCriticality(context.getClass(), context.getHandler()) ?? 'default';
    if (this.criticalityOf === undefined) return recorded;
    const unknown = (error: unknown): Criticality => {
      this.report(error);
      return recorded;
    };
    try {
      const caller = new HttpCaller(context, this.#proxies);
      const given = whenThere(this.criticalityOf(caller, context), (found) =>
        checked(found ?? recorded),
      );
      return given instanceof Promise ? given.catch(unknown) : given;
    } catch (error) {
      return unknown(error);
    }
  }
}

/** @throws InvalidLimitError for a word that is none */
function checked(found: unknown): Criticality {
  if (isCriticality(found)) return found;
  throw new InvalidLimitError(
    `LoadSheddingModule: criticalityOf gave ${shown(found)}, which is unknown`,
  );
}
