import * as fc from 'fast-check';

import { InvalidLimitError } from '../core/errors';
import { type Caller } from './caller';
import { type KeyResolver } from './key-resolver';
import { byBody, byHeader, byIp, byTenant, byUser } from './key-resolvers';
import { bodyKey, headerKey, ipKey, tenantKey, userKey } from './key-text';

const from = (changes: Partial<Caller>): Caller => ({
  transport: 'http',
  headers: {},
  args: [],
  ...changes,
});
const keyOf = (resolver: KeyResolver, changes: Partial<Caller>) =>
  resolver(from(changes), undefined);

describe('byIp', () => {
  it.each(['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:ffff:1.2.3.4'])(
    'puts %s into the bucket of 1.2.3.4 (B23)',
    (ip) => {
      expect(keyOf(byIp(), { ip })).toBe(ipKey('1.2.3.4'));
    },
  );

  it('groups IPv6 by subnet', () => {
    expect(keyOf(byIp(), { ip: '2001:db8:1:1::1' })).toBe('ip:2001:db8:1:1::/64');
    expect(keyOf(byIp({ ipv6Prefix: 48 }), { ip: '2001:db8:1:1::1' })).toBe('ip:2001:db8:1::/48');
    expect(keyOf(byIp({ ipv6Prefix: 128 }), { ip: '2001:db8:1:1::1' })).toBe('ip:2001:db8:1:1::1');
  });

  it.each([undefined, '', '/run/app.sock'])('finds nothing in %p: 400', (ip) => {
    expect(keyOf(byIp(), { ip })).toBeUndefined();
    expect(byIp().missing).toEqual({ status: 400, what: 'the client has no IP address' });
  });

  it.each([0, 129, 56.5, '64' as never])('refuses ipv6Prefix %p', (ipv6Prefix) => {
    expect(() => byIp({ ipv6Prefix })).toThrow(InvalidLimitError);
  });
});

describe('byHeader', () => {
  const byApiKey = byHeader('X-Api-Key');

  it('looks the name up in lower case and trims the value', () => {
    expect(keyOf(byApiKey, { headers: { 'x-api-key': ' Abc ' } })).toBe('header:x-api-key:Abc');
  });

  it('takes the first of several values', () => {
    expect(keyOf(byApiKey, { headers: { 'x-api-key': ['a', 'b'] } })).toBe(
      headerKey('x-api-key', 'a'),
    );
    expect(keyOf(byApiKey, { headers: { 'x-api-key': ['', 'b'] } })).toBeUndefined();
    expect(keyOf(byApiKey, { headers: { 'x-api-key': [] } })).toBeUndefined();
  });

  it.each([undefined, '', '  '])('finds nothing in %p: 400', (value) => {
    expect(keyOf(byApiKey, { headers: { 'x-api-key': value } })).toBeUndefined();
    expect(byApiKey.missing).toEqual({
      status: 400,
      what: 'the request has no header "x-api-key"',
    });
  });

  it('finds nothing under names that every object has', () => {
    expect(keyOf(byHeader('constructor'), {})).toBeUndefined();
    expect(keyOf(byHeader('__proto__'), {})).toBeUndefined();
  });

  it('keeps an API key that looks like an IP out of that IP’s bucket', () => {
    expect(keyOf(byApiKey, { headers: { 'x-api-key': '1.2.3.4' } })).not.toBe(ipKey('1.2.3.4'));
  });

  it('refuses a name that no header can have', () => {
    expect(() => byHeader('x key')).toThrow('byHeader("x key"): that is no header name');
    expect(() => byHeader(undefined as never)).toThrow(InvalidLimitError);
  });
});

describe('byUser', () => {
  it('reads `id` by default, from getters too', () => {
    class Account {
      get id() {
        return 5;
      }
    }
    expect(keyOf(byUser(), { user: new Account() })).toBe(userKey('id', 5));
    expect(keyOf(byUser(), { user: { id: 0 } })).toBe('user:id:0');
    expect(keyOf(byUser('email'), { user: { email: 'a@b.c' } })).toBe('user:email:a@b.c');
  });

  it.each([undefined, null, {}, { id: undefined }, { id: null }, { id: '' }, { id: NaN }, 'ada'])(
    'finds nothing in %p: 401 (B39)',
    (user) => {
      expect(keyOf(byUser(), { user })).toBeUndefined();
      expect(byUser().missing).toEqual({ status: 401, what: 'the caller is not logged in' });
    },
  );

  it('refuses an object as id', () => {
    expect(() => keyOf(byUser(), { user: { id: { $oid: '1' } } })).toThrow(InvalidLimitError);
  });
});

describe('byTenant', () => {
  it('takes what the function finds, now or later', async () => {
    expect(
      keyOf(
        byTenant((caller) => caller.user.orgId),
        { user: { orgId: 3 } },
      ),
    ).toBe(tenantKey(3));
    await expect(
      keyOf(
        byTenant(async () => 'acme'),
        {},
      ),
    ).resolves.toBe('tenant:acme');
  });

  it.each([undefined, null, '', NaN])('finds nothing in %p: 400', async (tenant) => {
    expect(
      keyOf(
        byTenant(() => tenant),
        {},
      ),
    ).toBeUndefined();
    await expect(
      keyOf(
        byTenant(async () => tenant),
        {},
      ),
    ).resolves.toBeUndefined();
    expect(byTenant(() => tenant).missing?.status).toBe(400);
  });

  it('lets the error of the function through', () => {
    expect(() =>
      keyOf(
        byTenant((caller) => caller.user.orgId),
        {},
      ),
    ).toThrow(TypeError);
  });

  it('refuses what is no function', () => {
    expect(() => byTenant('acme' as never)).toThrow('byTenant(acme): give a function');
  });
});

describe('byBody', () => {
  const byEmail = byBody('email');

  it('makes one key of every way to type it', () => {
    for (const email of ['ada@b.c', ' ADA@b.c', 'Ada@B.C\n']) {
      expect(keyOf(byEmail, { body: { email } })).toBe(bodyKey('email', 'ada@b.c'));
    }
    expect(keyOf(byBody('pin'), { body: { pin: 0 } })).toBe('body:pin:0');
  });

  it('accepts 256 characters and finds nothing in 257', () => {
    expect(keyOf(byEmail, { body: { email: ` ${'a'.repeat(256)} ` } })).toBe(
      `body:email:${'a'.repeat(256)}`,
    );
    expect(keyOf(byEmail, { body: { email: 'a'.repeat(257) } })).toBeUndefined();
  });

  it.each([
    [undefined],
    [null],
    ['email'],
    [['email']],
    [{}],
    [{ email: '' }],
    [{ email: '   ' }],
    [{ email: null }],
    [{ email: NaN }],
    [{ email: true }],
    [{ email: { $ne: '' } }],
    [{ email: ['a@b.c'] }],
    [Object.create({ email: 'inherited' })],
  ])('finds nothing in %p: 400', (body) => {
    expect(keyOf(byEmail, { body })).toBeUndefined();
    expect(byEmail.missing?.status).toBe(400);
  });

  it('finds nothing under names that every object has', () => {
    expect(keyOf(byBody('constructor'), { body: {} })).toBeUndefined();
    expect(keyOf(byBody('length'), { body: 'text' })).toBeUndefined();
  });

  it('reads bodies without a prototype', () => {
    const body = Object.assign(Object.create(null) as object, { email: 'a@b.c' });
    expect(keyOf(byEmail, { body })).toBe('body:email:a@b.c');
  });

  it('never fails on what a client may send', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (value) => {
        for (const body of [value, { email: value }]) {
          const key = keyOf(byEmail, { body });
          expect(key === undefined || /^body:email:./s.test(key as string)).toBe(true);
        }
      }),
    );
  });
});
