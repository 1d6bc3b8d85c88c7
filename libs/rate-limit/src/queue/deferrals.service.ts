// Makes jobs of calls that a route's limit refused: what deferTo promises, checked at start-up and kept at each call.
import { HttpStatus, Inject, Injectable, Logger } from '@nestjs/common';
import { InvalidLimitError, UnsupportedOperationError } from '../core/errors';
import { shown } from '../core/limit';
import type { Caller } from '../http/caller';
import type { DeferrableCall, Deferrals } from '../nest/deferral';
import { deferrableParameters } from '../nest/deferrable-handler';
import type { HandlerParameters } from '../nest/handler-parameters';
import { checkFunction, checkKeys } from '../nest/limit-options';
import type { Plan } from '../nest/plan';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options';
import { setHeaders } from '../nest/transports/http-caller';
import type { QueueDeferTo } from './defer-to.decorator';
import { jobAnswer, type JobBody } from './job-answer';
import type { Lane } from './lane';
import { OpenQueues } from './open-queues.service';
import type { JobStatus } from './queue-face';
import type { RateLimitedQueue } from './rate-limited-queue';
import { StatusUrls } from './status-urls.service';

/** Defers calls to the queues of the application. */
@Injectable()
export class QueueDeferrals implements Deferrals {
  readonly #logger = new Logger('deferTo');
  #toldOfStatus = false;

  constructor(@Inject(OpenQueues) private readonly queues: OpenQueues) {}

  check(plan: Plan, to: QueueDeferTo, module: RateLimitModuleOptions): void {
    try {
      this.#check(plan, to, module);
    } catch (error) {
      void this.queues.close();
      throw error;
    }
  }

  #check(
    { place, handler }: Plan,
    { queue, options }: QueueDeferTo,
    { redis, store }: RateLimitModuleOptions,
  ): void {
    const at = `${place.name}: deferTo(${shown(queue)})`;
    checkKeys(options, ['payload'], at);
    checkFunction(options.payload, 'payload', at);
    const opened = this.queues.named(queue);
    if (opened === undefined) {
      throw new InvalidLimitError(
        `${at}: this queue is not registered; known queues: ${this.queues.names.join(', ')}`,
      );
    }
    if (opened.isInMemory !== true && redis === undefined && store?.source !== 'shared') {
      throw new InvalidLimitError(
        `${at}: its jobs pay the bucket of the route, which is in this process' memory: set redis of RateLimitModule`,
      );
    }
    if (opened.isCluster) {
      throw new UnsupportedOperationError(
        `${at}: in a Redis Cluster the bucket of the route and the queue are on different nodes: use a Redis that is none`,
      );
    }
    if (place.method === undefined) {
      throw new UnsupportedOperationError(
        `${at}: it is no HTTP route, and only those can answer 202: submit to the queue by hand`,
      );
    }
    const parameters = deferrableParameters(handler);
    if (parameters === undefined) {
      throw new InvalidLimitError(
        `${at}: from where it stands it does not reach this handler: put it into a @RateLimit of the method itself, or of the class that Nest makes`,
      );
    }
    const otherwise = parameters.answeredOtherwise(handler);
    if (otherwise !== undefined) {
      throw new UnsupportedOperationError(
        `${at}: ${otherwise}, so it cannot be answered with 202: return a value, or submit to the queue by hand`,
      );
    }
    if (options.payload === undefined && parameters.hasOthers) {
      this.#logger.warn(
        `${at}: its job gets { body } only, and the handler has other parameters: give payload: (caller, ...args) => …`,
      );
    }
    if (this.#statusUrls === undefined && !this.#toldOfStatus) {
      this.#toldOfStatus = true;
      this.#logger.warn(
        `${at}: nobody can ask what became of a job: import RateLimitStatusModule.forRoot()`,
      );
    }
  }

  answer(
    call: DeferrableCall,
    parameters: HandlerParameters,
    args: readonly unknown[],
    handle: () => unknown,
  ): unknown {
    const key = call.caller.headers['idempotency-key'];
    const idempotencyKey = Array.isArray(key) ? key.join() : key;
    const defer = () => this.#defer(call, parameters, args, idempotencyKey);
    if (call.deferred) return defer();
    if (idempotencyKey === undefined) return handle();
    // It could run now, but may be the repeat of a call that became a job.
    const { queue, lane } = this.#lineOf(call);
    return queue.knows(lane, idempotencyKey).then((known) => (known ? defer() : handle()));
  }

  async #defer(
    call: DeferrableCall,
    parameters: HandlerParameters,
    args: readonly unknown[],
    idempotencyKey: string | undefined,
  ): Promise<JobBody> {
    const { caller, charge } = call;
    const { payload } = (call.to as QueueDeferTo).options;
    const data = await (payload === undefined
      ? { body: parameters.bodyOf(args, caller.body) }
      : payload(caller, ...args));
    const { queue, lane } = this.#lineOf(call);
    const ticket = await queue.submitTo(lane, data, { cost: charge.cost, idempotencyKey });
    if (!ticket.known) call.tell();
    const waiting: JobStatus = { ...ticket, state: 'waiting' };
    const status = ticket.known ? ((await queue.status(ticket.id)) ?? waiting) : waiting;
    const url = this.#statusUrls?.of(ticket.id);
    const { body, headers } = jobAnswer(ticket.id, status, url);
    return accepted(caller, body, headers);
  }

  /** The queue, and the line in it that pays the bucket of the call. */
  #lineOf({ to, limit, charge: { scoped, key } }: DeferrableCall): {
    queue: RateLimitedQueue<unknown>;
    lane: Lane;
  } {
    const opened = this.queues.named(to.queue)!;
    const lane = opened.laneOf(scoped.place.bucket(key), limit);
    return { queue: opened.queue as RateLimitedQueue<unknown>, lane };
  }

  get #statusUrls(): StatusUrls | undefined {
    return this.queues.provided(StatusUrls)[0] as StatusUrls | undefined;
  }
}

function accepted(
  { res }: Caller,
  body: JobBody,
  headers: ReadonlyArray<readonly [name: string, value: string]>,
): JobBody {
  (res as { status(code: number): unknown }).status(HttpStatus.ACCEPTED);
  setHeaders(res, [
    ...headers,
    ['Content-Type', 'application/json; charset=utf-8'],
    ...(body.statusUrl === undefined ? [] : [['Location', body.statusUrl] as const]),
  ]);
  return body;
}
