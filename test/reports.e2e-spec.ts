// Reports are built at once while tokens last, and later after that; a job's status tells when and then what.
import { ADAPTERS, type Answer, RunningDemo, statuses } from './support/demo';

const OSLO = { city: 'oslo', coldest: 2, warmest: 6, average: 4 };

describe.each(ADAPTERS)('reports on %s', (adapter) => {
  let demo: RunningDemo;
  beforeEach(async () => {
    demo = await RunningDemo.start({ adapter });
  });
  afterEach(() => demo.stop());

  const ask = (key: string, headers?: Record<string, string>, city = 'oslo'): Promise<Answer> =>
    demo.call('/reports', { method: 'POST', key, headers, body: { city } });
  const status = ({ headers }: Answer, prefer = 'wait=0') =>
    demo.call(headers.get('location') ?? 'none', { headers: { prefer } });
  const useUp = (key: string) => Promise.all(Array.from({ length: 4 }, () => ask(key)));

  it('answers ten calls: four at once, six with 202; all get their report, two a second', async () => {
    const startMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('pro-key')));
    expect(statuses(answers).filter((code) => code === 201)).toHaveLength(4);
    for (const { json } of answers.filter((each) => each.status === 201)) {
      expect(json).toEqual(OSLO);
    }
    const deferred = answers.filter((each) => each.status === 202);
    const positions = new Set(deferred.map(({ json }) => json.position));
    expect(positions).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    const ended = await Promise.all(deferred.map((each) => status(each, 'wait=10')));
    for (const { json } of ended) expect(json).toMatchObject({ state: 'completed', result: OSLO });
    // The last one starts after six tokens at two a second.
    expect(performance.now() - startMs).toBeGreaterThan(2800);
    expect(performance.now() - startMs).toBeLessThan(4500);
  }, 15_000);

  it('says when and where', async () => {
    await useUp('pro-key');
    const answer = await ask('pro-key');
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      state: 'waiting',
      position: 1,
      statusUrl: `/rate-limit/jobs/${answer.json.id}`,
    });
    expect(answer.headers.get('location')).toBe(answer.json.statusUrl);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.headers.get('ratelimit')).toContain('"reports";r=0');
  });

  it('a wrong city takes no place, another customer is not in this line', async () => {
    await useUp('pro-key');
    expect((await ask('pro-key', {}, 'atlantis')).status).toBe(400);
    expect((await ask('pro-key')).json.position).toBe(1);
    expect((await ask('free-key')).status).toBe(201);
  });

  it('the same Idempotency-Key gives the same job, which can be cancelled', async () => {
    await useUp('pro-key');
    await ask('pro-key');
    const key = { 'idempotency-key': 'monday' };
    const [first, again] = [await ask('pro-key', key), await ask('pro-key', key)];
    expect(again.json.id).toBe(first.json.id);
    expect((await ask('pro-key', key, 'cairo')).status).toBe(409);
    const cancelled = await demo.call(first.json.statusUrl, { method: 'DELETE' });
    expect(cancelled).toMatchObject({ status: 200, json: { state: 'cancelled' } });
    expect((await status(first)).json.state).toBe('cancelled');
  });
});
