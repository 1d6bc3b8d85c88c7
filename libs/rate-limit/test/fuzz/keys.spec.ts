// Key resolvers over anything that a framework may hand on: a key, no key, or an error of ours. `npm run fuzz` for all.
import fc from 'fast-check';
import {
  allOf,
  byBody,
  byHeader,
  byIp,
  byTenant,
  byUser,
  type Caller,
  firstOf,
  RateLimitError,
} from 'nest-rate-limit';
import { bucketNamer } from '../../src/core/bucket-key';
import { resolveKey } from '../../src/http/key-resolver';
import { preferredWaitS } from '../../src/queue/long-polls.service';
import { fuzz, SEEDS } from '../support/fuzz';
import { hostile, hostileList } from '../support/hostile-text';

jest.setTimeout(600_000);

const anything = fc.oneof(
  hostile,
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }),
);
const caller = fc.record({
  transport: fc.constant('http' as const),
  ip: fc.option(fc.oneof(hostileList, anything), { nil: undefined }),
  headers: fc.dictionary(
    fc.constantFrom('x-api-key', 'x-forwarded-for', '__proto__'),
    fc.oneof(hostileList, fc.array(hostile)),
  ),
  user: fc.oneof(anything, fc.record({ id: anything })),
  body: fc.oneof(anything, fc.record({ email: anything })),
  args: fc.constant([]),
}) as unknown as fc.Arbitrary<Caller>;

const resolvers = {
  'byIp()': byIp(),
  'byIp({ ipv6Prefix: 1 })': byIp({ ipv6Prefix: 1 }),
  "byHeader('x-api-key')": byHeader('x-api-key'),
  "byUser('id')": byUser('id'),
  byTenant: byTenant(({ user }) => user?.id as string),
  "byBody('email')": byBody('email'),
  firstOf: firstOf(byHeader('x-api-key'), byUser('id'), byIp()),
  allOf: allOf(byBody('email'), byIp()),
};
const namers = [bucketNamer('rl'), bucketNamer('rl', 'secret')];

describe.each(SEEDS)('seed %d', (seed) => {
  it.each(Object.entries(resolvers))('%s', async (_, resolver) => {
    await fuzz(seed, caller, async (one) => {
      let key: string;
      try {
        key = await resolveKey(resolver, one, undefined as never);
      } catch (error) {
        // What the application put there: its error, not the caller's.
        if (RateLimitError.is(error)) return;
        throw error;
      }
      expect(typeof key).toBe('string');
      for (const namer of namers) {
        const bucket = namer.place('p', 'app').bucket(key);
        expect(bucket.length).toBeLessThan(200);
        expect(/^rl:\{[\w-]{1,22}\}:p:app/.test(bucket)).toBe(true);
      }
    });
  });

  it('Prefer', async () => {
    await fuzz(seed, hostileList, (prefer) => {
      const waitS = preferredWaitS(prefer) ?? 0;
      expect(waitS >= 0 && waitS <= 30).toBe(true);
    });
  });
});
