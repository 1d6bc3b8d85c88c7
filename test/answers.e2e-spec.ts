// The answers as they stand on the wire, byte for byte where the clock has no say.
import { ADAPTERS, RunningDemo } from './support/demo';

describe.each(ADAPTERS)('answers, %s', (adapter) => {
  let demo: RunningDemo;

  beforeAll(async () => {
    demo = await RunningDemo.start({ adapter });
  });
  afterAll(async () => {
    await demo.stop();
  });

  it('an admitted call tells the limits, what is left, and the tightest in the old headers', async () => {
    const { status, headers, json } = await demo.call('/weather/oslo', { key: 'slow-key' });

    expect(status).toBe(200);
    expect(json).toEqual({ city: 'oslo', celsius: 2 });
    expect(members(headers.get('ratelimit-policy'))).toEqual(
      ['"default";q=5;w=5', '"ip";q=10000;w=2'].sort(),
    );
    expect(members(headers.get('ratelimit'))).toEqual(
      ['"default";r=4;t=1', '"ip";r=9999;t=1'].sort(),
    );
    expect(headers.get('x-ratelimit-limit')).toBe('5');
    expect(headers.get('x-ratelimit-remaining')).toBe('4');
    expect(headers.get('x-ratelimit-reset')).toBe('1');
    expect(headers.get('retry-after')).toBeNull();
  });

  it('a refused call tells when to come back, to programs and to people', async () => {
    await demo.call('/forecast/oslo?days=4', { key: 'slow-key' });
    const { status, headers, json } = await demo.call('/forecast/oslo?days=5', {
      key: 'slow-key',
    });

    expect(status).toBe(429);
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json(;|$)/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    const retryAfter = Number(headers.get('retry-after'));
    expect([4, 5]).toContain(retryAfter);
    expect(json).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: expect.stringMatching(
        /^Policy "default" has [01] left and the call costs 5\. Retry in [45] s\.$/,
      ),
      'violated-policies': ['default'],
      retryAfter,
      cost: 5,
    });
  });

  it('a call that can never pass is refused for good', async () => {
    const { status, headers } = await demo.call('/forecast/oslo?days=6', { key: 'slow-key' });
    expect(status).toBe(413);
    expect(headers.get('retry-after')).toBeNull();
  });

  it('a handler that fails has its limits told as well', async () => {
    const { status, headers } = await demo.call('/weather/atlantis', { key: 'free-key' });
    expect(status).toBe(404);
    expect(headers.get('x-ratelimit-remaining')).toBe('19');
  });
});

/** The members of a structured field that is a list, in a fixed order. No string in them holds a comma. */
function members(field: string | null): string[] {
  return (field ?? '').split(', ').sort();
}
