// Decorators of the queue's Nest face. They only record; the module checks at start-up.
import { Inject, Injectable } from '@nestjs/common';
import { getRateLimitedQueueToken, PROCESSOR_METADATA } from './rate-limit-queue.constants';

/**
 * Makes a provider the processor of a queue: its `process(job, { signal, token })` runs the jobs, in
 * every process of the application. One a queue.
 */
export function RateLimitedProcessor(queue: string): ClassDecorator {
  return (target) => {
    Injectable()(target);
    Reflect.defineMetadata(PROCESSOR_METADATA, queue, target);
  };
}

/** Injects the `RateLimitedQueue` of this name. */
export function InjectRateLimitedQueue(queue: string): ParameterDecorator & PropertyDecorator {
  return Inject(getRateLimitedQueueToken(queue));
}
