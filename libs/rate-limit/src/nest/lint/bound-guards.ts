// Which guards run before a handler, in Nest's order: global ones, the class', the method's.
import type { Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants';
import type { ApplicationConfig } from '@nestjs/core';
import { RateLimitGuard } from '../rate-limit.guard';
import { RequestLimiter } from '../request-limiter';

/** A guard before a handler. */
export interface BoundGuard {
  readonly type: Type;
  readonly at: 'globally' | 'on the class' | 'on the method';
  /** `asks`: a guard of somebody's own that has ours, or what is behind it, injected. */
  readonly isOurs: 'itself' | 'asks' | false;
  /** Names of the limits that it charges; `undefined`: all. Only of ours. */
  readonly charges: ReadonlySet<string> | undefined;
}

/** The guards that run before a handler. */
export function boundGuards(type: Type, handler: object, config: ApplicationConfig): BoundGuard[] {
  const scoped = config.getGlobalRequestGuards().map(({ metatype }) => metatype as unknown);
  return [
    ...[...config.getGlobalGuards(), ...scoped].map((guard) => boundGuard(guard, 'globally')),
    ...declared(type).map((guard) => boundGuard(guard, 'on the class')),
    ...declared(handler).map((guard) => boundGuard(guard, 'on the method')),
  ];
}

/** True when the guard charges limits of this name. */
export function chargesLimit({ isOurs, charges }: BoundGuard, name: string): boolean {
  return isOurs !== false && (charges?.has(name) ?? true);
}

function declared(target: object): unknown[] {
  return (Reflect.getMetadata(GUARDS_METADATA, target) as unknown[] | undefined) ?? [];
}

function boundGuard(guard: unknown, at: BoundGuard['at']): BoundGuard {
  const type = (typeof guard === 'function' ? guard : (guard as object).constructor) as Type;
  const isOurs = isGuardOfOurs(type) ? 'itself' : asksOurs(guard, type) && 'asks';
  const { charges } = isOurs === 'itself' ? (type as unknown as typeof RateLimitGuard) : {};
  return { type, at, isOurs, charges };
}

function isGuardOfOurs(type: unknown): boolean {
  return (
    type === RateLimitGuard ||
    (typeof type === 'function' && type.prototype instanceof RateLimitGuard)
  );
}

function asksOurs(guard: unknown, type: Type): boolean {
  const injected = Reflect.getMetadata('design:paramtypes', type) as unknown[] | undefined;
  const held = typeof guard === 'function' ? [] : Object.values(guard as object);
  return (
    injected?.some((each) => isGuardOfOurs(each) || each === RequestLimiter) === true ||
    held.some((each) => each instanceof RateLimitGuard || each instanceof RequestLimiter)
  );
}
