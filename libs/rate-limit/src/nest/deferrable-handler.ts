// Puts the deferral around handlers, when they are declared: after that, Nest has them.
import { Req } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants';
import { takeCall } from './deferral';
import { HandlerParameters } from './handler-parameters';

/** Metadata of a wrapped handler: its parameters, without the one that was added. */
const WRAPPED_METADATA = Symbol.for('nest-rate-limit:deferrable-handler');

type Handler = (this: unknown, ...args: unknown[]) => unknown;

/** The parameters of a handler that can be deferred; `undefined` for another one. */
export function deferrableParameters(handler: object): HandlerParameters | undefined {
  return Reflect.getMetadata(WRAPPED_METADATA, handler) as HandlerParameters | undefined;
}

/**
 * Wraps a method, or all routes of a class, inherited ones included. What was wrapped before stays as
 * it is. Decorators that stand below have been applied, those above will find the wrapped handler.
 */
export function makeDeferrable(
  target: object,
  method?: string | symbol,
  descriptor?: PropertyDescriptor,
): void {
  if (method !== undefined && descriptor !== undefined) {
    wrap(target, method, descriptor);
    return;
  }
  const { prototype } = target as { prototype: object };
  for (const [name, found] of routesOf(prototype)) {
    wrap(prototype, name, found);
    Object.defineProperty(prototype, name, found);
  }
}

/**
 * The wrapped handler gets the request as one more parameter, behind all others: no pipe runs on it,
 * and documentation leaves it out.
 */
function wrap(prototype: object, method: string | symbol, descriptor: PropertyDescriptor): void {
  const handler = descriptor.value as Handler;
  if (deferrableParameters(handler) !== undefined) return;
  const parameters = new HandlerParameters(prototype.constructor, method);
  const at = Math.max(handler.length, parameters.length);
  const wrapped: Handler = function (...args) {
    const call = takeCall(args[at]);
    const own = args.slice(0, at);
    const handle = () => handler.apply(this, own);
    return call === undefined ? handle() : call.deferrals.answer(call, parameters, own, handle);
  };
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(wrapped, property, { value: handler[property], configurable: true });
  }
  for (const key of Reflect.getOwnMetadataKeys(handler) as unknown[]) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, handler), wrapped);
  }
  Reflect.defineMetadata(WRAPPED_METADATA, parameters, wrapped);
  Req()(prototype, method, at);
  descriptor.value = wrapped;
}

/** The routes of a class by name, the nearest first. */
function routesOf(prototype: object): Map<string, PropertyDescriptor> {
  const routes = new Map<string, PropertyDescriptor>();
  for (
    let each = prototype;
    each !== null && each !== Object.prototype;
    each = Object.getPrototypeOf(each) as object
  ) {
    for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(each))) {
      const isRoute =
        typeof found.value === 'function' &&
        Reflect.hasMetadata(PATH_METADATA, found.value as object);
      if (isRoute && name !== 'constructor' && !routes.has(name)) routes.set(name, found);
    }
  }
  return routes;
}
