// Slow downloads: two at a time for each customer over all instances; and shed first when the fleet is full.
import { uniquePrefix } from '../libs/rate-limit/test/support/redis-server';
import { ADAPTERS, RunningDemo, statuses } from './support/demo';

/** A download that has begun. */
interface Download {
  readonly status: number;
  /** The client leaves. */
  leave(): void;
  /** All of it. */
  text(): Promise<string>;
}

async function begin(demo: RunningDemo, key: string): Promise<Download> {
  const controller = new AbortController();
  const response = await fetch(`${demo.url}/downloads/oslo`, {
    headers: { 'x-api-key': key },
    signal: controller.signal,
  });
  return {
    status: response.status,
    leave: () => controller.abort(),
    text: () => response.text(),
  };
}

describe.each(ADAPTERS)('downloads on %s', (adapter) => {
  const running: RunningDemo[] = [];
  afterEach(() => Promise.all(running.splice(0).map((demo) => demo.stop())));
  const start = async (fleet?: number): Promise<[RunningDemo, RunningDemo]> => {
    const keyPrefix = uniquePrefix();
    const settings = { adapter, keyPrefix, fleet };
    running.push(await RunningDemo.start(settings), await RunningDemo.start(settings));
    return [running[0], running[1]];
  };

  it('two at a time over two instances, for each customer; whoever leaves makes room', async () => {
    const [one, other] = await start();
    const first = await begin(one, 'pro-key');
    const second = await begin(other, 'pro-key');
    expect([first.status, second.status]).toEqual([200, 200]);
    const refused = await one.call('/downloads/oslo', { key: 'pro-key' });
    expect(refused).toMatchObject({ status: 429, json: { 'violated-policies': ['downloads'] } });
    expect(refused.headers.get('retry-after')).toBe('1');
    const third = await begin(one, 'free-key');
    expect(third.status).toBe(200);
    third.leave();
    first.leave();
    let again = await begin(other, 'pro-key');
    for (let i = 0; i < 50 && again.status === 429; i++) again = await begin(other, 'pro-key');
    expect(again.status).toBe(200);
    again.leave();
    // The one that nobody left is whole.
    expect((await second.text()).split('\n')).toHaveLength(32);
    expect((await begin(one, 'pro-key')).status).toBe(200);
  });

  it('a fleet of 5 keeps one call for what is critical', async () => {
    const [one, other] = await start(5);
    const downloads = [
      await begin(one, 'pro-key'),
      await begin(other, 'pro-key'),
      await begin(one, 'free-key'),
      await begin(other, 'free-key'),
    ];
    expect(downloads.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const shed = await one.call('/weather/oslo', { key: 'enterprise-key' });
    expect(shed).toMatchObject({ status: 503, json: { 'violated-policies': ['fleet'] } });
    expect(Number(shed.headers.get('retry-after'))).toBeGreaterThanOrEqual(2);
    const body = { email: 'ada@example.org', password: 'enchantress' };
    const critical = [
      await other.call('/login', { method: 'POST', body }),
      await one.call('/health'),
    ];
    expect(statuses(critical)).toEqual([200, 200]);
    for (const download of downloads) download.leave();
  });
});
