// What the throttlers of @nestjs/throttler, and its decorators, mean as limits of a handler. Knows its names and its
// metadata, and needs nothing of the package.
import type { ExecutionContext, Type } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown, type Limit } from '../core/limit';
import type { Caller } from '../http/caller';
import { byIp } from '../http/key-resolvers';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import type { DeclaredLimit } from './declared-limit';
import type { Variants } from './merged-limits';
import type { KeyResolver, OfCall } from './rate-limit.options';

/** The token under which `ThrottlerModule`, a global module, provides its options. */
export const THROTTLER_OPTIONS = 'THROTTLER:MODULE_OPTIONS';

type Resolvable = number | string | ((context: ExecutionContext) => MaybePromise<number | string>);

interface CommonOptions {
  readonly skipIf?: (context: ExecutionContext) => boolean;
  readonly ignoreUserAgents?: readonly RegExp[];
  readonly getTracker?: (req: unknown, context: ExecutionContext) => MaybePromise<string>;
  readonly generateKey?: (context: ExecutionContext, tracker: string, name: string) => string;
}

interface Throttler extends CommonOptions {
  readonly name?: string;
  readonly limit: Resolvable;
  readonly ttl: Resolvable;
  readonly blockDuration?: Resolvable;
}

/** The options of `ThrottlerModule`, as far as they are used. */
export type ThrottlerOptions =
  | readonly Throttler[]
  | (CommonOptions & {
      readonly throttlers: readonly Throttler[];
      readonly ipv6SubnetPrefix?: number;
    });

const DEFAULT_NAME = 'default';
const PLACE = 'RateLimitModule: throttlerCompat';

/** Limits from throttlers, made for each handler once. */
export class ThrottlerLimits {
  readonly #throttlers: readonly Throttler[];
  readonly #common: CommonOptions;
  readonly #byIp: KeyResolver;
  /** Names of the throttlers, and of the policies that stand for them. */
  readonly #names = new Map<string, string>();

  /** @throws InvalidLimitError for throttlers that cannot be told apart */
  constructor(options: ThrottlerOptions) {
    const common = 'throttlers' in options ? options : { throttlers: options };
    this.#throttlers = common.throttlers;
    this.#common = common;
    this.#byIp = byIp({ ipv6Prefix: 'ipv6SubnetPrefix' in common ? common.ipv6SubnetPrefix : 64 });
    for (const { name = DEFAULT_NAME } of this.#throttlers) {
      const policy = policyName(name);
      if ([...this.#names.values()].includes(policy)) {
        throw new InvalidLimitError(`${PLACE}: two throttlers are named ${shown(policy)}`);
      }
      this.#names.set(name, policy);
    }
  }

  /** Names of throttlers that ask for a block: a bucket lets pass again when a token is there. */
  get blocking(): string[] {
    return this.#throttlers
      .filter(({ blockDuration }) => blockDuration !== undefined && blockDuration !== 0)
      .map(({ name = DEFAULT_NAME }) => name);
  }

  get names(): Iterable<string> {
    return this.#names.values();
  }

  /** The limits of a handler by name, without those that `@SkipThrottle` takes away. */
  of(type: Type, handler: object, place: string): ReadonlyMap<string, Variants> {
    const targets = [handler, type];
    const limits = new Map<string, Variants>();
    for (const throttler of this.#throttlers) {
      const name = throttler.name ?? DEFAULT_NAME;
      const note = <T>(key: string) => nearest<T>(`THROTTLER:${key}${name}`, targets);
      if (note<boolean>('SKIP') === true) continue;
      const own = {
        limit: note<Resolvable>('LIMIT') ?? throttler.limit,
        ttl: note<Resolvable>('TTL') ?? throttler.ttl,
        getTracker: note<CommonOptions['getTracker']>('TRACKER'),
        generateKey: note<CommonOptions['generateKey']>('KEY_GENERATOR'),
      };
      const limit = this.#limit(
        { ...this.#common, ...defined(throttler), ...defined(own) },
        name,
        place,
      );
      limits.set(limit.name, [limit]);
    }
    return limits;
  }

  #limit(throttler: Throttler & CommonOptions, name: string, at: string): DeclaredLimit {
    const { limit, ttl, getTracker, generateKey } = throttler;
    const place = `${at}: throttler ${shown(name)}`;
    const policy = this.#names.get(name) as string;
    const isFixed = typeof limit !== 'function' && typeof ttl !== 'function';
    // Numbers from functions are only known with a call; until then any will do.
    const numbers = isFixed ? numbersOf(limit, ttl, place) : { rate: 1 };
    return {
      source: 'numbers',
      name: policy,
      tiers: undefined,
      options: {
        ...numbers,
        name: policy,
        key: keyOf(getTracker, generateKey, name) ?? this.#byIp,
        // A key of somebody's own says by itself who shares a bucket.
        scope: generateKey === undefined ? 'route' : 'app',
        skip: skipOf(throttler),
      },
      place,
      numbersOf: isFixed
        ? undefined
        : (context) =>
            whenThere(valueOf(limit, context), (calls) =>
              whenThere(valueOf(ttl, context), (ms) => numbersOf(calls, ms, place)),
            ),
    };
  }
}

/** `limit` is the capacity, and `limit / ttl` the rate. Text, as from the environment, is read as a number. */
function numbersOf(limit: number | string, ttl: number | string, place: string): Limit {
  const [calls, ms] = [limit, ttl].map((each) =>
    typeof each === 'string' && each.trim() !== '' ? Number(each) : each,
  );
  if (!(typeof calls === 'number' && calls >= 1 && calls < Infinity)) {
    throw new InvalidLimitError(
      `${place}: limit ${shown(limit)} is not a number of at least 1: give one, or skip the throttler`,
    );
  }
  if (!(typeof ms === 'number' && ms > 0 && ms < Infinity)) {
    throw new InvalidLimitError(`${place}: ttl ${shown(ttl)} is not a number of ms above 0`);
  }
  return { rate: Math.floor(calls), per: Math.ceil(ms), capacity: Math.floor(calls) };
}

function keyOf(
  getTracker: CommonOptions['getTracker'],
  generateKey: CommonOptions['generateKey'],
  name: string,
): KeyResolver | undefined {
  if (getTracker === undefined && generateKey === undefined) return undefined;
  const tracked: KeyResolver =
    getTracker === undefined
      ? byIp()
      : (caller: Caller, context) => getTracker(caller.req, context);
  if (generateKey === undefined) return tracked;
  return (caller, context) =>
    whenThere(tracked(caller, context) as MaybePromise<string>, (tracker) =>
      generateKey(context, tracker, name),
    );
}

function skipOf({ skipIf, ignoreUserAgents }: CommonOptions): OfCall<boolean> | undefined {
  if (skipIf === undefined && !Array.isArray(ignoreUserAgents)) return undefined;
  return ({ headers }, context) => {
    if (skipIf?.(context)) return true;
    const agent = String(headers['user-agent'] ?? '');
    return ignoreUserAgents?.some((pattern) => agent.search(pattern) >= 0) ?? false;
  };
}

function valueOf(value: Resolvable, context: ExecutionContext): MaybePromise<number | string> {
  return typeof value === 'function' ? value(context) : value;
}

function nearest<T>(key: string, targets: readonly object[]): T | undefined {
  for (const target of targets) {
    const value = Reflect.getMetadata(key, target) as T | undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

function defined<T extends object>(options: T): T {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as T;
}

/** Theirs may be named anything; a policy's name goes into headers. */
function policyName(name: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9_-]/g, '-');
  return /^[a-z]/.test(plain) ? plain : `t-${plain}`;
}
