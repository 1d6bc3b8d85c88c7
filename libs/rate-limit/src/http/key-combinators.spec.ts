import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { type Caller } from './caller';
import { allOf, firstOf } from './key-combinators';
import { type KeyResolver, type KeyValue, missingKeyError, resolveKey } from './key-resolver';
import { byBody, byHeader, byIp, byUser } from './key-resolvers';
import { allOfKey, bodyKey, ipKey, userKey } from './key-text';

const caller = (changes: Partial<Caller> = {}): Caller => ({
  transport: 'http',
  ip: '1.2.3.4',
  headers: {},
  args: [],
  ...changes,
});
const broken: KeyResolver = () => {
  throw new Error('database down');
};
const rejecting: KeyResolver = () => Promise.reject(new Error('database down'));
const never: KeyResolver = () => {
  throw new Error('asked in vain');
};

describe('firstOf', () => {
  it('gives the first key found and asks nobody after that', () => {
    const resolver = firstOf(byHeader('x-api-key'), byIp(), never);
    expect(resolver(caller({ headers: { 'x-api-key': 'k' } }), undefined)).toBe(
      'header:x-api-key:k',
    );
    expect(resolver(caller(), undefined)).toBe(ipKey('1.2.3.4'));
  });

  it('lets a known user and a stranger each have their own bucket', () => {
    const resolver = firstOf(byUser(), byIp());
    expect(resolver(caller({ user: { id: 5 } }), undefined)).toBe(userKey('id', 5));
    expect(resolver(caller(), undefined)).toBe(ipKey('1.2.3.4'));
  });

  it.each([undefined, null, '', NaN])(
    'goes on after %p, now or later (B39)',
    async (value: KeyValue) => {
      expect(firstOf(() => value, byIp())(caller(), undefined)).toBe('ip:1.2.3.4');
      await expect(firstOf(async () => value, byIp())(caller(), undefined)).resolves.toBe(
        'ip:1.2.3.4',
      );
    },
  );

  it('goes on after a MissingKeyError, now or later', async () => {
    const missing = new MissingKeyError('nothing here');
    const throwing: KeyResolver = () => {
      throw missing;
    };
    const resolver = firstOf(throwing, allOf(byUser(), byIp()), byIp());
    expect(resolver(caller(), undefined)).toBe('ip:1.2.3.4');
    const later = firstOf(() => Promise.reject(missing), byIp());
    await expect(later(caller(), undefined)).resolves.toBe('ip:1.2.3.4');
  });

  it('does not go on after any other error, now or later', async () => {
    expect(() => firstOf(broken, byIp())(caller(), undefined)).toThrow('database down');
    await expect(firstOf(rejecting, byIp())(caller(), undefined)).rejects.toThrow('database down');
    const object: KeyResolver = () => ({}) as never;
    expect(() => firstOf(object, byIp())(caller(), undefined)).toThrow(InvalidLimitError);
  });

  it('finds nothing when none does, and says all that is missing', async () => {
    const nobody = caller({ ip: undefined });
    const resolver = firstOf(byHeader('x-api-key'), byIp());
    expect(resolver(nobody, undefined)).toBeUndefined();
    expect(missingKeyError(resolver)).toMatchObject({
      httpStatus: 400,
      message:
        'no key to limit this call by: the request has no header "x-api-key", and the client has no IP address',
    });
    await expect(firstOf(async () => '', byIp())(nobody, undefined)).resolves.toBeUndefined();
  });

  it('says 401 when logging in would help', () => {
    expect(firstOf(byHeader('x-api-key'), byUser()).missing?.status).toBe(401);
    expect(firstOf(byIp(), allOf(byUser(), byIp())).missing?.status).toBe(401);
    expect(firstOf(byIp(), () => undefined).missing?.status).toBe(400);
  });
});

describe('allOf', () => {
  const resolver = allOf(byBody('email'), byIp());

  it('joins the keys of all, in order', () => {
    expect(resolver(caller({ body: { email: 'A@b.c' } }), undefined)).toBe(
      allOfKey(bodyKey('email', 'a@b.c'), ipKey('1.2.3.4')),
    );
  });

  it('waits where it has to', async () => {
    const later = allOf(byIp(), async () => 7, byIp());
    await expect(later(caller(), undefined)).resolves.toBe(
      allOfKey('ip:1.2.3.4', '7', 'ip:1.2.3.4'),
    );
  });

  it('fails with the error of the part that found nothing', async () => {
    const both = allOf(byIp(), byUser(), never);
    expect(() => resolveKey(both, caller(), undefined)).toThrow(
      expect.objectContaining({
        httpStatus: 401,
        message: 'no key to limit this call by: the caller is not logged in',
      }),
    );
    expect(() =>
      resolveKey(allOf(byUser(), byBody('email')), caller({ user: { id: 1 } }), undefined),
    ).toThrow(expect.objectContaining({ httpStatus: 400 }));
    await expect(
      resolveKey(
        allOf(async () => '', byIp()),
        caller(),
        undefined,
      ),
    ).rejects.toThrow(MissingKeyError);
  });

  it('lets other errors through', async () => {
    expect(() => allOf(byIp(), broken)(caller(), undefined)).toThrow('database down');
    await expect(allOf(rejecting, never)(caller(), undefined)).rejects.toThrow('database down');
  });

  it('nests without ambiguity', () => {
    const a = allOf(
      allOf(
        () => 'a',
        () => 'b',
      ),
      () => 'c',
    );
    const b = allOf(
      () => 'a',
      allOf(
        () => 'b',
        () => 'c',
      ),
    );
    expect(a(caller(), undefined)).not.toBe(b(caller(), undefined));
  });
});

describe.each([
  ['firstOf', firstOf],
  ['allOf', allOf],
])('%s', (name, combine) => {
  it('refuses an empty list and what is no function, at once', () => {
    expect(() => combine()).toThrow(`${name}(): give at least one key resolver`);
    expect(() => combine(byIp(), 'ip' as never)).toThrow(
      `${name}(…): ip (string) is no key resolver`,
    );
    expect(() => combine(undefined as never)).toThrow(InvalidLimitError);
  });

  it('takes the context of its parts', () => {
    const byHandler: KeyResolver<{ handler: string }> = (_, context) => context.handler;
    const resolver: KeyResolver<{ handler: string }> = combine(byHandler, byIp());
    expect(resolver(caller(), { handler: 'list' })).toContain('list');
  });
});
